# Starts nginx with the configuration $1, prints `up` and nginx's warnings once it
# listens, and ends it when standard input closes, at the latest with the process that
# holds it. $2 is nginx's pid file.
set -eu
PATH=$PATH:/usr/sbin
nginx -c "$1" -g 'daemon off;' 2>"$1.said" &
nginx=$!
# It writes the pid file when it listens.
until [ -s "$2" ]; do
    kill -0 $nginx 2>/dev/null || break
    sleep 0.02
done
# Only root may change the user; other users need not.
said=$(grep -v '"user" directive makes sense only' "$1.said") || true
[ -s "$2" ] || { echo $said; exit 1; }
echo up $said
read -r _ || true
kill $nginx
wait $nginx || true
