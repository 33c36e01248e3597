# Serves one PostgreSQL cluster of three servers, each under a Patroni of its own, with an etcd
# of one member, all on 127.0.0.1. The arguments are free ports, 17 of them. Says `up` and the
# addresses of the three servers once one accepts writes and two follow it. Then obeys its
# standard input, an order a line, each about the one that accepts writes:
#   kill    ends its Patroni, its PostgreSQL and all their children at once
#   freeze  stops all of them, as a machine that hangs does
#   cut     stops the relays between it and everybody else: nobody is told
#   heal    undoes the last of these, and says `whole` when that server follows the new one
# When standard input closes, which it does with the process that holds it, everything ends
# and nothing is left. Root becomes `postgres` first, which PostgreSQL wants.
set -eu
for program in patroni etcd; do
    command -v $program >/dev/null || { echo "There is no $program: install Debian's packages patroni and etcd-server" >&2; exit 1; }
done
programs=$(ls -d /usr/lib/postgresql/*/bin | tail -n 1)
folder=$(mktemp -d)
etcd_port=$1 peer_port=$2
shift 2
as=""
if [ "$(id -u)" = 0 ]; then
    chown postgres "$folder"
    as="setpriv --reuid=postgres --regid=postgres --clear-groups"
fi
cd "$folder"
others=
trap end EXIT
trap 'exit 1' PIPE

end() {
    set +e
    # Twice: meanwhile a Patroni may have started a server.
    for _ in 1 2; do kill -KILL $others $(processes 1 2 3) 2>/dev/null; done
    rm -rf "$folder"
}

# The Patroni of each of these nodes, its PostgreSQL, which is no child of it, and the children
# of both, from /proc: `pgrep` is not on every machine.
processes() {
    parents=$(for node in "$@"; do cat "$node/patroni" && head -n 1 "$node/data/postmaster.pid"; done 2>/dev/null || true)
    echo $parents
    grep -lsE "^PPid:[[:space:]]*($(echo $parents | tr ' ' '|'))\$" /proc/[0-9]*/status | cut -d / -f 3
}

# A program that only forwards bytes: from port $1 to port $2.
relay() {
    etcd gateway start --listen-addr="127.0.0.1:$1" --endpoints="127.0.0.1:$2" --retry-delay=100ms \
        >/dev/null 2>&1 &
    others="$others $!"
    relays="$relays $!"
}

# Node $1, whose PostgreSQL, API and etcd are at the ports $2 to $4 for itself, and at $5 to $7
# for everybody else.
configure() {
    mkdir "$1"
    relays=
    relay "$5" "$2"
    relay "$6" "$3"
    relay "$4" "$etcd_port"
    echo "$relays" >"$1/relays"
    cat >"$1/patroni.yml" <<END
scope: broker
name: node$1
restapi: { listen: "127.0.0.1:$3", connect_address: "127.0.0.1:$6" }
etcd: { host: "127.0.0.1:$4", use_proxies: true }
bootstrap:
  dcs:
    ttl: 8
    loop_wait: 1
    retry_timeout: 3
    synchronous_mode: true
    synchronous_mode_strict: true
    postgresql:
      use_pg_rewind: true
      remove_data_directory_on_rewind_failure: true
      remove_data_directory_on_diverged_timelines: true
      parameters: { max_connections: 400, wal_sender_timeout: 3s, wal_retrieve_retry_interval: 100ms, fsync: "off" }
  initdb: [no-sync, { auth: trust }]
postgresql:
  listen: "127.0.0.1:$2"
  connect_address: "127.0.0.1:$5"
  data_dir: $folder/$1/data
  bin_dir: $programs
  pgpass: $folder/$1/pgpass
  authentication: { superuser: { username: broker }, replication: { username: broker } }
  parameters: { unix_socket_directories: "$folder/$1" }
  pg_hba: [local all all trust, host all all 127.0.0.1/32 trust, host replication all 127.0.0.1/32 trust]
END
    echo "$2" >"$1/port"
    if [ "$as" ]; then chown -R postgres "$1"; fi
}

start() {
    $as patroni "$1/patroni.yml" >"$1/log" 2>&1 &
    echo $! >"$1/patroni"
}

# The node that accepts writes, if there is one.
primary() {
    for node in 1 2 3; do
        if [ "$(sql "$node" "SELECT pg_is_in_recovery()")" = f ]; then echo "$node"; fi
    done
}

sql() {
    PGCONNECT_TIMEOUT=2 "$programs/psql" -h "$folder/$1" -p "$(cat "$1/port")" -U broker -d postgres -qAtc "$2" 2>/dev/null || true
}

# Patroni has noted which standby is synchronous, without which it promotes none, and all three
# are of one timeline: a server that must be rewound follows for a moment before.
agree() {
    patronictl -c "$first/patroni.yml" list --format tsv 2>/dev/null |
        awk -F '\t' '$5 == "running" { on[$6]++; if (on[$6] == 3) all = 1 } $4 == "Sync Standby" { noted = 1 }
            END { exit !(all && noted) }'
}

# One accepts writes, and two follow it.
wait_until_whole() {
    for _ in $(seq 200); do
        first=$(primary)
        case $first in [123])
            follow=$(sql "$first" "SELECT count(*) FILTER (WHERE sync_state = 'sync'), count(*) FROM pg_stat_replication
                WHERE state = 'streaming' AND application_name LIKE 'node%'")
            if [ "$follow" = "1|2" ] && agree; then return; fi ;;
        esac
        sleep 0.1
    done
    tail -n 20 ?/log >&2
    exit 1
}

# By its second interface: by the third, a Patroni 3.0.2 that wakes up after a freeze overwrites
# the lease of its successor.
etcd --enable-v2 --data-dir="$folder/etcd" --listen-client-urls="http://127.0.0.1:$etcd_port" \
    --advertise-client-urls="http://127.0.0.1:$etcd_port" --listen-peer-urls="http://127.0.0.1:$peer_port" \
    --initial-advertise-peer-urls="http://127.0.0.1:$peer_port" \
    --initial-cluster="default=http://127.0.0.1:$peer_port" >/dev/null 2>&1 &
others=$!
# Patroni ends if etcd does not answer yet.
for _ in $(seq 600); do
    if python3 -c "import urllib.request as it; it.urlopen('http://127.0.0.1:$etcd_port/health')" 2>/dev/null; then break; fi
    kill -0 $others
    sleep 0.1
done
addresses=
for node in 1 2 3; do
    configure $node "$1" "$2" "$3" "$4" "$5"
    addresses="$addresses,127.0.0.1:$4"
    shift 5
    start $node
done
wait_until_whole
echo "up ${addresses#,}"
while read -r order; do
    case $order in
    kill | freeze)
        failure=$order failed=$(primary)
        # Stopped, they can fork no child after they were listed.
        kill -STOP $(cat "$failed/patroni") $(head -n 1 "$failed/data/postmaster.pid")
        if [ "$order" = freeze ]; then
            kill -STOP $(processes "$failed")
        else
            kill -KILL $(processes "$failed")
            # Their numbers may be another's soon.
            rm -f "$failed/patroni" "$failed/data/postmaster.pid"
        fi
        echo down
        ;;
    cut)
        failure=$order failed=$(primary)
        kill -STOP $(cat "$failed/relays")
        echo down
        ;;
    heal)
        case $failure in
        kill) start "$failed" ;;
        freeze) kill -CONT $(processes "$failed") ;;
        cut) kill -CONT $(cat "$failed/relays") ;;
        esac
        wait_until_whole
        echo whole
        ;;
    esac
done
