# Has nginx serve by the configuration $1, and says `up` once it listens. Ends it when
# standard input closes, which it does with the process that holds it. $2 is the file
# in which nginx writes who it is.
set -eu
PATH=$PATH:/usr/sbin
nginx -c "$1"
echo up
read -r _ || true
nginx=$(cat "$2")
kill -TERM "$nginx"
while kill -0 "$nginx" 2>/dev/null; do sleep 0.02; done
