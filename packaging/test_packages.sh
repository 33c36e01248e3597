#!/usr/bin/env bash
# Packages the programs of a folder, installs each package where nothing else is, and uses
# it: a stack starts, users sign in with it, SIGINT ends it.
#
#   packaging/test_packages.sh PROGRAMS
#
# The users sign in at the reference consumer on Flask, whose packages are in
# target/consumers/python: `just test-dist` installs them.
set -euo pipefail
cd "$(dirname "$0")/.."
programs=$1
work=$(mktemp -d)
pid=
trap '[ -z "$pid" ] || kill "$pid"; rm -rf "$work"' EXIT

packaging/package.sh "$programs" "$work/packages"
packaging/package.sh "$programs" "$work/again"
diff --recursive "$work/packages" "$work/again" || { echo "Two packages of the same programs differ." >&2; exit 1; }

free=(--broker=127.0.0.1:0 --control=127.0.0.1:0 --google=127.0.0.1:0 --github=127.0.0.1:0 --consumer=localhost:0)
# Starts the stack with this command, and sets the addresses of its broker and its control.
start() {
    echo "packages: $*" >&2
    coproc stack { exec "$@" "${free[@]}" --quiet --automatic; }
    pid=$stack_PID broker="" control=""
    while [ -z "$control" ] && read -r what address _; do
        case $what in
            broker) broker=$address ;;
            inspector) control=$address ;;
        esac
    done <&"${stack[0]}"
    [ -n "$control" ] || { echo "The stack did not start." >&2; exit 1; }
}
sign_in() {
    STACK_CONTROL=$control target/consumers/python/bin/python e2e/consumers/python/test_app.py
}
# Judges the broker of the stack by this command.
judge() {
    "$@" "$broker" --control "$control" > "$work/report" || { cat "$work/report" >&2; exit 1; }
}
stop() {
    kill -INT "$pid"
    local status=0
    wait "$pid" || status=$?
    pid=
    [ "$status" = 0 ] || { echo "The stack ended with status $status after SIGINT." >&2; exit 1; }
}

python3 -m venv "$work/python"
"$work/python/bin/pip" install --quiet --no-index "$work"/packages/*.whl
start "$work/python/bin/signin-kit" up
sign_in
judge "$work/python/bin/signin-kit" conformance
stop

npm install --prefix "$work/node" --offline --no-audit --no-fund --loglevel error "$work"/packages/*.tgz
start "$work/node/node_modules/.bin/signin-kit" up
sign_in
stop

mkdir "$work/archive"
tar --extract --file "$work"/packages/*.tar.gz --directory "$work/archive" --strip-components 1
start "$work/archive/stack"
sign_in
judge "$work/archive/conformance"
stop
cat > "$work/broker.toml" <<END
base_url = "http://127.0.0.1:8000"
store.url = "sqlite:$work/broker.db"
upstream.google = { client_id = "id", client_secret = "secret" }
END
"$work/archive/broker" new-project --redirect-uri http://localhost:5000/callback Test >> "$work/broker.toml"
"$work/archive/broker" check --config "$work/broker.toml"
# The examiner starts the demo, with a stack of its own.
port=$(python3 -c 'import socket; print(socket.create_server(("127.0.0.1", 0)).getsockname()[1])')
"$work/archive/examine" "http://localhost:$port/" --only callback-replay -- "$work/archive/consumer-demo"
"$work/archive/signin-kit" --version
