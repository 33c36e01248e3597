# Serves one PostgreSQL server from a folder of its own, over a unix socket there.
# Says `up FOLDER` once it answers. Then obeys its standard input, an order a line:
#   kill            ends the server and all its children at once, as a power cut would
#   start           serves the same folder again
#   standby FOLDER  makes it a standby of the server in that folder, which it follows
#   promote         makes a standby a primary
#   freeze          stops the processes that send its log to a standby
#   lost FOLDER     counts the commits in its log after the point at which the server in
#                   that folder, promoted, began a history of its own
#   sql STATEMENTS  runs them, and says `done` and the rows that they return
# When standard input closes, which it does with the process that holds it, the
# server stops and nothing is left. PostgreSQL refuses to run as root, so root
# becomes `postgres` first. $1 is the value of PostgreSQL's fsync, $2 a group whose
# members must prove a password, $3 the folder of the server to follow, if it begins as
# a standby; all that follows are arguments of the server's own. Its port is in PGPORT.
set -eu
fsync=$1 guarded=$2 primary=$3
shift 3
programs=$(ls -d /usr/lib/postgresql/*/bin | tail -n 1)
folder=$(mktemp -d)
as=""
if [ "$(id -u)" = 0 ]; then
    chown postgres "$folder"
    as="setpriv --reuid=postgres --regid=postgres --clear-groups"
fi
cd "$folder"
server=
trap 'if [ "$server" ]; then kill -QUIT $server; fi; rm -rf "$folder"' EXIT
trap 'exit 1' PIPE

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

follow() {
    rm -rf "$folder/data"
    $as "$programs/pg_basebackup" -h "$1" -U broker -D "$folder/data" --write-recovery-conf \
        --wal-method=stream --checkpoint=fast --no-sync
}

sql() {
    "$programs/psql" -h "$folder" -U broker -d postgres -v ON_ERROR_STOP=1 -qAtc "$1"
}

if [ "$primary" ]; then
    follow "$primary"
    start "$@"
else
    $as "$programs/initdb" -D "$folder/data" -U broker --auth=trust --no-sync >/dev/null
    sed -i "1i local all +$guarded scram-sha-256" "$folder/data/pg_hba.conf"
    start "$@"
    sql "CREATE ROLE $guarded NOLOGIN"
fi
echo "up $folder"
while read -r order rest; do
    case $order in
    kill)
        # Stopped, it can fork no child after they were listed. Such a child would wait
        # for the others for ever.
        kill -STOP $server
        kill -9 $server $(children $server)
        wait $server 2>/dev/null || true
        server=
        echo down
        ;;
    start)
        start "$@"
        echo "up $folder"
        ;;
    standby)
        follow "$rest"
        start "$@"
        echo "up $folder"
        ;;
    promote)
        $as "$programs/pg_ctl" promote -D "$folder/data" >/dev/null
        echo promoted
        ;;
    freeze)
        kill -STOP $(sql "SELECT pid FROM pg_stat_replication")
        echo frozen
        ;;
    lost)
        history=$(ls "$rest"/data/pg_wal/*.history | tail -n 1)
        read -r timeline end _ <<EOF
$(grep . "$history" | tail -n 1)
EOF
        # It complains about the end of the log.
        lost=$("$programs/pg_waldump" --path="$folder/data/pg_wal" --timeline="$timeline" \
            --start="$end" --rmgr=Transaction 2>/dev/null | grep -c 'desc: COMMIT' || true)
        echo lost "$lost"
        ;;
    sql)
        rows=$(sql "$rest")
        echo done $rows
        ;;
    esac
done
if [ "$server" ]; then
    kill -INT $server
    wait $server || true
    server=
fi
