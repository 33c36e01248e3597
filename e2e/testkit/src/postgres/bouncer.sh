# Serves the databases of the PostgreSQL server at the socket in $1 through pgbouncer in
# transaction mode, over a unix socket in a folder of its own; what follows are lines of
# its configuration. Says `up FOLDER` once it answers, and ends when its standard input
# closes. pgbouncer refuses to run as root, so root becomes `postgres` first.
set -eu
server=$1
shift
PATH=$PATH:/usr/sbin
programs=$(ls -d /usr/lib/postgresql/*/bin | tail -n 1)
folder=$(mktemp -d)
as=""
trap 'rm -rf "$folder"' EXIT
cd "$folder"
echo '"broker" ""' >users
{
    echo "[databases]"
    echo "* = host=$server"
    echo "[pgbouncer]"
    echo "pool_mode = transaction"
    echo "unix_socket_dir = $folder"
    echo "listen_addr ="
    echo "listen_port = 6432"
    echo "auth_type = trust"
    echo "auth_file = $folder/users"
    for line in "$@"; do echo "$line"; done
} >pgbouncer.ini
if [ "$(id -u)" = 0 ]; then
    chown -R postgres "$folder"
    as="setpriv --reuid=postgres --regid=postgres --clear-groups"
fi
$as pgbouncer --quiet pgbouncer.ini >/dev/null &
bouncer=$!
while ! "$programs/pg_isready" -q -h "$folder" -p 6432 -d postgres -U broker; do
    kill -0 $bouncer
    sleep 0.02
done
echo "up $folder"
while read -r _; do :; done
kill -TERM $bouncer
wait $bouncer || true
