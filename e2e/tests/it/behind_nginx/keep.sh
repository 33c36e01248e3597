# Has nginx serve by the configuration $1, and says `up` once it listens, and whatever
# nginx warns of. Ends it when standard input closes, which it does with the process
# that holds it. $2 is the file in which nginx writes who it is.
set -eu
PATH=$PATH:/usr/sbin
nginx -c "$1" -g 'daemon off;' 2>"$1.said" &
nginx=$!
# It says who it is when it listens.
until [ -s "$2" ]; do
    kill -0 $nginx 2>/dev/null || break
    sleep 0.02
done
# Nobody but root may become somebody else, and need not.
said=$(grep -v '"user" directive makes sense only' "$1.said") || true
[ -s "$2" ] || { echo $said; exit 1; }
echo up $said
read -r _ || true
kill $nginx
wait $nginx || true
