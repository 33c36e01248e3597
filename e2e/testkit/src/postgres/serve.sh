# Makes a cluster in a folder of its own and serves it over a unix socket there.
# Says `up FOLDER` once it answers. Then obeys its standard input, a word a line:
#   kill    ends the server and all its children at once, as a power cut would
#   start   serves the same folder again
# When standard input closes, which it does with the process that holds it, the
# server stops and nothing is left. PostgreSQL refuses to run as root, so root
# becomes `postgres` first. $1 is the value of PostgreSQL's fsync, $2 a group whose
# members must prove a password; all that follows are arguments of the server's own.
set -eu
fsync=$1 guarded=$2
shift 2
programs=$(ls -d /usr/lib/postgresql/*/bin | tail -n 1)
folder=$(mktemp -d)
as=""
if [ "$(id -u)" = 0 ]; then
    chown postgres "$folder"
    as="setpriv --reuid=postgres --regid=postgres --clear-groups"
fi
cd "$folder"
trap 'rm -rf "$folder"' EXIT

start() {
    # After a kill it may refuse for a while, because a child that is ending still holds
    # the memory that all of them share. It does not get our standard output, so that the
    # output ends when this script does.
    for _ in $(seq 300); do
        $as "$programs/postgres" -D "$folder/data" -k "$folder" -c listen_addresses= \
            -c max_connections=400 -c fsync="$fsync" -c log_min_messages=panic "$@" >/dev/null &
        server=$!
        while kill -0 $server 2>/dev/null; do
            if "$programs/pg_isready" -q -h "$folder"; then return; fi
            sleep 0.02
        done
        sleep 0.1
    done
    exit 1
}

# The children of a process, from /proc: `pgrep` is not on every machine.
children() {
    grep -ls "^PPid:[[:space:]]*$1\$" /proc/[0-9]*/status | cut -d / -f 3
}

$as "$programs/initdb" -D "$folder/data" -U broker --auth=trust --no-sync >/dev/null
sed -i "1i local all +$guarded scram-sha-256" "$folder/data/pg_hba.conf"
start "$@"
"$programs/psql" -h "$folder" -U broker -d postgres -qc "CREATE ROLE $guarded NOLOGIN"
echo "up $folder"
while read -r word; do
    case $word in
    kill)
        # Stopped, it can fork no child after they were listed. Such a child would wait
        # for the others for ever.
        kill -STOP $server
        kill -9 $server $(children $server)
        wait $server 2>/dev/null || true
        echo down
        ;;
    start)
        start "$@"
        echo "up $folder"
        ;;
    esac
done
kill -INT $server
wait $server || true
