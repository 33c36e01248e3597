# Has nginx serve by the configuration $1, and says `up` once it listens, and whatever
# nginx warns of. Ends it when standard input closes, which it does with the process
# that holds it. $2 is the file in which nginx writes who it is.
set -eu
PATH=$PATH:/usr/sbin
said=$(nginx -c "$1" 2>&1) || { echo $said; exit 1; }
# Nobody but root may become somebody else, and need not.
echo up $(echo "$said" | grep -v '"user" directive makes sense only')
read -r _ || true
nginx=$(cat "$2")
kill -TERM "$nginx"
while kill -0 "$nginx" 2>/dev/null; do sleep 0.02; done
