# Every command of the project. `just` alone lists them.

set shell := ["bash", "-euo", "pipefail", "-c"]
set positional-arguments

# Cargo's tools that are not part of Rust: pinned, and in `target`, so that they are
# built once.
tools := justfile_directory() / "target/tools/bin"

# The suites that need more than Rust.
suites := "e2e/browser,e2e/examples,e2e/nginx,e2e/postgres,bench/postgres,conformance/postgres,consistency/postgres,broker/postgres,stack/clients,examiner/consumers"

# The programs of a debug build.
programs := env("CARGO_TARGET_DIR", "target") / "debug"

# Those of a release build.
release := env("CARGO_TARGET_DIR", "target") / "release"

# One stack for the rest of a recipe, on free ports, or the running one at STACK_CONTROL.
start_stack := '''
if [ -z "${STACK_CONTROL:-}" ]; then
    free=(--broker=127.0.0.1:0 --control=127.0.0.1:0 --google=127.0.0.1:0 --github=127.0.0.1:0 --consumer=localhost:0)
    coproc stack { exec cargo run --locked --quiet -- --quiet --automatic "${free[@]}"; }
    trap 'kill "$stack_PID"' EXIT
    while read -r what address _ && [ "$what" != inspector ]; do :; done <&"${stack[0]}"
    export STACK_CONTROL=${address:?the stack did not start}
fi
'''

# List the commands
[private]
default:
    @just --list --unsorted

# Start the whole stack: demo, broker, imitated Google and GitHub (all flags: just up --help)
[group('run')]
up *FLAGS:
    cargo run --locked -- "$@"

# Grade a consumer: is this app, as it runs, correct and safe? (all flags: just examine --help)
[group('run')]
[no-cd]
examine *FLAGS:
    cargo run --locked --quiet --manifest-path "{{ justfile_directory() }}/Cargo.toml" -p examiner -- "$@"

# Run the broker alone, in a debug build (all commands: just broker --help)
[group('run')]
broker *ARGS:
    cargo run --locked --bin broker -- "$@"

# Run the demo alone against any broker (its settings: just consumer --help)
[group('run')]
consumer *ARGS:
    cargo run --locked --bin consumer-demo -- "$@"

# Test any broker against the contract (BASE_URL --control URL for a stack; all flags: just conformance --help)
[group('run')]
conformance *FLAGS:
    cargo run --locked --quiet -p conformance -- "$@"

# Install what is missing, check the code, and run every test
[group('test')]
test: _chromium _axe _nginx _postgres _pgbouncer _consumers _java _certutil check && test-examples test-clients test-sandboxes test-dist test-container
    cargo test --locked --workspace --features {{ suites }}

# Run only the tests that need nothing but Rust
[group('test')]
test-rust:
    cargo test --locked --workspace

# Run only the tests in a real browser; its screenshots go to target/screenshots
[group('test')]
test-browser: _chromium _axe
    cargo test --locked --workspace --features e2e/browser --test browser

# Run only the tests of the broker behind the real nginx
[group('test')]
test-nginx: _nginx
    cargo test --locked -p e2e --features nginx --test e2e behind_nginx::

# Run only the clients that trust the certificate authority of a stack with --https
[group('test')]
test-trust: _chromium _certutil _python _node _java
    cargo test --locked -p stack --features clients --test start_up trust::

# Run only the storage suite, on SQLite, on PostgreSQL, and on PostgreSQL behind pgbouncer
[group('test')]
test-storage: _postgres _pgbouncer
    cargo test --locked -p broker --features postgres --test broker storage::

# Run the tests of the reference consumers, of the example in Rust, and of what the README shows
[group('test')]
test-examples: _consumers
    #!/usr/bin/env bash
    set -euo pipefail
    folder=e2e/consumers installed=target/consumers
    {{ start_stack }}
    # They share the stack: one after the other.
    $installed/python/bin/python $folder/python/test_app.py
    node --test $folder/node/app.test.mjs
    cargo build --locked --workspace --features {{ suites }} --example minimal
    cargo test --locked --workspace --features {{ suites }} --test consumer_test --test readme

# Run only the examiner's own tests: good consumers pass, each fault fails exactly its checks
[group('test')]
test-examiner: _chromium _consumers
    cargo test --locked --workspace --features {{ suites }} --bins --test law --test command_line

# Run only the real client libraries against the imitated Google and GitHub
[group('test')]
test-clients: _python _npm
    #!/usr/bin/env bash
    set -euo pipefail
    node=e2e/clients/node python=e2e/clients/python installed=target/clients
    {{ just_executable() }} _node-modules $node
    {{ just_executable() }} _python-packages $python $installed/python
    {{ start_stack }}
    # They share the stack: one file after the other.
    node --test --test-concurrency=1 $node/*.test.mjs
    $installed/python/bin/python -m unittest discover --start-directory $python --pattern '*_test.py'
    cargo test --locked --manifest-path e2e/clients/rust/Cargo.toml --target-dir $installed/rust

# Run only the hundreds of tests at once, each in its sandbox, in Python, TypeScript and Rust
[group('test')]
test-sandboxes: _chromium _python _npm
    #!/usr/bin/env bash
    set -euo pipefail
    folder=e2e/examples/sandboxes installed=target/sandboxes
    {{ just_executable() }} _node-modules $folder/playwright
    {{ just_executable() }} _python-packages $folder/pytest $installed/python
    {{ start_stack }}
    # Eight workers each.
    $installed/python/bin/python -m pytest --quiet -p no:cacheprovider --numprocesses 8 $folder/pytest
    (cd $folder/playwright && node_modules/.bin/playwright test)
    cargo test --locked --manifest-path $folder/rust/Cargo.toml --target-dir target/clients/rust -- --test-threads 8

# Test the packages, of a debug build: install each, sign in with it, and compare two of each
[group('test')]
test-dist: _python _npm _programs
    {{ just_executable() }} _python-packages e2e/consumers/python target/consumers/python
    packaging/test_packages.sh {{ programs }}

# Test the containers' files, of a debug build, without a container engine: start them, sign in, stop
[group('test')]
test-container: _python _programs
    {{ just_executable() }} _python-packages e2e/consumers/python target/consumers/python
    target/consumers/python/bin/python packaging/test_container.py {{ programs }}

# Check the code: format, lints, the published contract, the systemd unit, the Kubernetes manifest, licences and sources of dependencies
[group('test')]
check: lint check-contract check-service check-kubernetes _cargo-deny
    {{ tools }}/cargo-deny --locked check bans licenses sources

# Check the published contract against OpenAPI's own meta-schema, which no crate carries
[group('test')]
check-contract: _python
    #!/usr/bin/env bash
    set -euo pipefail
    tools=target/contract-tools
    if ! [ -x $tools/bin/openapi-spec-validator ]; then
        python3 -m venv $tools
        $tools/bin/pip install --quiet --requirement .ci/contract-tools.txt
    fi
    $tools/bin/openapi-spec-validator broker/contract/openapi.yaml

# Check the broker's systemd unit: its syntax, and how much the service is allowed to do
[group('test')]
check-service: _systemd
    #!/usr/bin/env bash
    set -euo pipefail
    mkdir -p target/systemd
    unit=target/systemd/broker.service
    # The check requires the program to exist, and the broker need not be installed here.
    sed 's|/usr/local/bin/broker|/bin/true|' broker/systemd/broker.service > $unit
    # An unknown line is only a warning: any output is an error here.
    warnings=$(systemd-analyze verify --man=no $unit 2>&1) && [ -z "$warnings" ] || { echo "$warnings" >&2; exit 1; }
    # At most 15 of 100, which is a service without any restriction.
    systemd-analyze security --offline=true --no-pager --threshold=15 $unit

# Check the Kubernetes manifest against Kubernetes' own schemas, which allow no other key
[group('test')]
check-kubernetes: _python
    #!/usr/bin/env bash
    set -euo pipefail
    tools=target/kubernetes-tools
    if ! cmp --silent .ci/kubernetes-tools.txt $tools/installed.txt; then
        python3 -m venv --clear $tools
        $tools/bin/pip install --quiet --requirement .ci/kubernetes-tools.txt
        cp .ci/kubernetes-tools.txt $tools/installed.txt
    fi
    # An unknown kind is only a warning: any output is an error here.
    found=$($tools/bin/kubernetes-validate --strict --quiet broker/kubernetes/broker.yaml 2>&1) && [ -z "$found" ] ||
        { echo "$found" >&2; exit 1; }

# Check the dependencies against the advisory database (needs the network)
[group('test')]
advisories: _cargo-deny
    {{ tools }}/cargo-deny --locked check advisories

# Check the format and the lints
[group('test')]
lint:
    cargo fmt --all -- --check
    cargo fmt --manifest-path e2e/clients/rust/Cargo.toml -- --check
    cargo fmt --manifest-path e2e/examples/sandboxes/rust/Cargo.toml -- --check
    cargo clippy --locked --workspace --all-targets --all-features -- --deny warnings
    cargo clippy --locked --manifest-path e2e/clients/rust/Cargo.toml --target-dir target/clients/rust --all-targets -- --deny warnings
    cargo clippy --locked --manifest-path e2e/examples/sandboxes/rust/Cargo.toml --target-dir target/clients/rust --all-targets -- --deny warnings

# Publish which fault fails which check
[group('prove')]
examiner-matrix:
    PUBLISH_MATRIX=1 cargo test --locked --workspace --features {{ suites }} --test law the_published_matrix

# Write into THREATS.md which tests cover each threat
[group('prove')]
threats:
    PUBLISH_THREATS=1 cargo test --locked --workspace --features {{ suites }} --test e2e threats::

# Race clients for every single-use value (a number of races; --engine postgres; all flags: just histories --help)
[group('prove')]
histories *FLAGS:
    cargo run --locked --release -p consistency -- histories "$@"

# Kill brokers under load, and check what they acknowledged (a number of kills; --engine postgres, --failover; all flags: just crashes --help)
[group('prove')]
crashes *FLAGS:
    cargo run --locked --release -p consistency -- crashes "$@"

# Soak test: users sign in for MINUTES while every fault is injected, and each login is checked (all flags: just soak --help)
[group('prove')]
soak *FLAGS:
    cargo run --locked --release -p consistency -- soak "$@"

# Break the broker in each known way; the checker must notice (a quarter of an hour; NAME is part of a break's name)
[group('prove')]
test-checker NAME="": _postgres
    cargo test --locked -p consistency --features breaks --test breaks "{{ NAME }}" -- --test-threads 1

# Mutate one SET of the code, or all, and compare the scores with the published ones (three hours; SET: contract, use-cases, store, postgres, sql; --publish after it writes the score)
[group('prove')]
mutants SET="all" PUBLISH="": _postgres _pgbouncer _cargo-mutants _cargo-nextest
    #!/usr/bin/env bash
    set -euo pipefail
    mutate() { {{ just_executable() }} _mutants "$1" "{{ PUBLISH }}" "${@:2}"; }
    case "{{ SET }}" in
        all)
            for set in contract use-cases store postgres sql; do
                {{ just_executable() }} mutants $set {{ PUBLISH }}
            done ;;
        contract) mutate contract contract -f 'broker/contract/src/**' ;;
        use-cases) mutate use-cases broker --test-tool nextest -f 'broker/src/model*' -f 'broker/src/model/**' \
            -f 'broker/src/sign_in*' -f 'broker/src/sign_in/**' ;;
        store) mutate store broker --test-tool nextest -f 'broker/src/store*' -f 'broker/src/store/**' \
            -e 'broker/src/store/postgres.rs' -e 'broker/src/store/postgres/*' ;;
        # Without nextest, which would start a server for each test.
        postgres) mutate postgres broker -f 'broker/src/store/postgres.rs' -f 'broker/src/store/postgres/*' --features postgres ;;
        sql) {{ just_executable() }} mutants-sql {{ PUBLISH }} ;;
        *) echo "mutants: unknown set {{ SET }}; there are contract, use-cases, store, postgres, sql and all" >&2; exit 2 ;;
    esac

# Mutate only the store's SQL (--list; --only TEXT; --publish writes the score)
[group('prove')]
mutants-sql *FLAGS: _postgres _pgbouncer
    cargo run --locked --quiet -p mutants -- sql "$@"

# Fuzz every input: CASES mutations each, or two minutes (CASES=10000 for a quick run; TARGET is part of a test's name)
[group('prove')]
fuzz CASES="1000000" TARGET="fuzz::":
    PROPTEST_CASES={{ CASES }} cargo test --locked --release -p broker -p stack -p e2e --lib --test e2e {{ TARGET }} -- --nocapture --test-threads 1

# Compare schemas, broker and a reference validator on CASES bodies of each request (CASES=10000 for a quick run)
[group('prove')]
differential CASES="1000000":
    PROPTEST_CASES={{ CASES }} cargo test --locked --release -p e2e --test e2e contract::differential:: -- --nocapture

# Make every published figure, or those of some NAMES, and write e2e/FIGURES.md (six hours; continues where it stopped; --quick tries it)
[group('prove')]
figures *FLAGS: _postgres
    e2e/figures.sh "$@"

# Measure the broker beside a floor, in a quarter of an hour, or only NAMES (--against COMMIT compares; all flags: just bench --help)
[group('prove')]
bench *FLAGS:
    # By itself: together with others, cargo compiles it with the features that those need.
    cargo build --locked --release -p broker
    cargo build --locked --release -p stack -p bench
    {{ release }}/bench "$@"

# Measure sandboxes: the time until one is ready, their memory, and growth over 1,000 of them
[group('prove')]
bench-sandboxes:
    cargo bench --locked --quiet -p stack --bench sandboxes

# Measure the time that the stack's proxy adds to a call of the broker
[group('prove')]
bench-wire:
    cargo bench --locked --quiet -p e2e --bench wire

# Make the pictures of the README, in docs/pictures
[group('release')]
pictures: _chromium
    PUBLISH_PICTURES=1 cargo test --locked --workspace --features e2e/browser --test browser pictures::

# List the dependencies of each program, as CycloneDX 1.5 in target/sbom
[group('release')]
sbom: _cargo-cyclonedx
    #!/usr/bin/env bash
    set -euo pipefail
    # The commit's time, not the current one: the same tree gives the same lists.
    SOURCE_DATE_EPOCH=$(git log -1 --format=%ct)
    export SOURCE_DATE_EPOCH
    # The tool writes each list beside the manifest of its program, and nowhere else.
    {{ tools }}/cargo-cyclonedx cyclonedx --quiet --format json --spec-version 1.5 --describe binaries
    rm -rf target/sbom
    mkdir -p target/sbom
    for list in */*_bin.cdx.json */*/*_bin.cdx.json; do
        # The tool names our own crates by their folders: without that of the tree.
        sed "s|file://$PWD/|file:///|g" "$list" > "target/sbom/$(basename "$list" _bin.cdx.json).json"
        rm "$list"
    done
    ls target/sbom

# Build the packages of a release in target/dist: archive, wheel, npm package, SBOMs, checksums
[group('release')]
dist: _python _npm sbom
    #!/usr/bin/env bash
    set -euo pipefail
    if [ -n "$(git status --porcelain)" ]; then
        echo "The tree has uncommitted changes: these packages are of no commit." >&2
    fi
    # No path of this machine gets into a program: the same commit gives the same bytes
    # anywhere. In a folder of its own, because these flags compile everything again.
    cargo_home=${CARGO_HOME:-$HOME/.cargo}
    export RUSTFLAGS="--remap-path-prefix=$cargo_home=/cargo --remap-path-prefix=$PWD=/signin-kit"
    export CFLAGS="-ffile-prefix-map=$cargo_home=/cargo -ffile-prefix-map=$PWD=/signin-kit"
    cargo build --locked --profile dist --target-dir target/dist-build -p stack -p broker -p conformance -p signin-kit
    rm -rf target/dist
    packaging/package.sh target/dist-build/dist target/dist
    for program in stack broker conformance signin-kit; do
        cp target/sbom/$program.json target/dist/$program.cdx.json
    done
    cd target/dist
    sha256sum -- * > ../SHA256SUMS
    mv ../SHA256SUMS .
    cat SHA256SUMS

# Chromium and its driver, from Debian's packages
_chromium:
    #!/usr/bin/env bash
    set -euo pipefail
    if command -v chromium >/dev/null && command -v chromedriver >/dev/null; then exit 0; fi
    {{ just_executable() }} _install chromium chromium-driver

# nginx, from Debian's packages; the suite starts its own instances
_nginx:
    #!/usr/bin/env bash
    set -euo pipefail
    # It is in a directory that is on root's PATH only.
    if PATH=$PATH:/usr/sbin command -v nginx >/dev/null; then exit 0; fi
    {{ just_executable() }} _install nginx

# PostgreSQL's programs, from Debian's packages; the suites start servers of their own
_postgres:
    #!/usr/bin/env bash
    set -euo pipefail
    if ls -d /usr/lib/postgresql/*/bin >/dev/null 2>&1; then exit 0; fi
    {{ just_executable() }} _install postgresql

# pgbouncer, from Debian's packages; the suite starts its own instances
_pgbouncer:
    #!/usr/bin/env bash
    set -euo pipefail
    # It is in a directory that is on root's PATH only.
    if PATH=$PATH:/usr/sbin command -v pgbouncer >/dev/null; then exit 0; fi
    {{ just_executable() }} _install pgbouncer

# The checker of systemd units, from Debian's packages
_systemd:
    command -v systemd-analyze >/dev/null || {{ just_executable() }} _install systemd

# certutil, by which Chromium trusts a certificate authority
_certutil:
    command -v certutil >/dev/null || {{ just_executable() }} _install libnss3-tools

# Java 11 or newer, which runs a single source file
_java:
    command -v javac >/dev/null || {{ just_executable() }} _install default-jdk-headless

# The interpreters of two of the consumers
_python:
    python3 -c "import venv, ensurepip" 2>/dev/null || {{ just_executable() }} _install python3 python3-venv

_node:
    command -v node >/dev/null || {{ just_executable() }} _install nodejs

# npm, and a Node that is new enough
_npm: _node
    #!/usr/bin/env bash
    set -euo pipefail
    if [ "$(node --print 'Number.parseInt(process.versions.node)')" -lt 20 ]; then
        echo "The consumers and the client libraries need Node 20 or newer; found $(node --version)." >&2
        exit 1
    fi
    command -v npm >/dev/null || {{ just_executable() }} _install npm

# Every program, in a debug build. The one test has cargo compile the crates as for all
# tests: after a run of those, nothing is compiled again.
_programs:
    cargo build --locked --workspace --features {{ suites }} --bins --test command_line

# What the reference consumers on Flask and Express need
_consumers: _python _npm
    {{ just_executable() }} _node-modules e2e/consumers/node
    {{ just_executable() }} _python-packages e2e/consumers/python target/consumers/python

_axe: _npm
    {{ just_executable() }} _node-modules e2e/tests/browser/axe

# The locked packages of a folder, installed into the tree, and again only when the lock changes
_node-modules FOLDER:
    #!/usr/bin/env bash
    set -euo pipefail
    if cmp --silent "$1/package-lock.json" "$1/node_modules/.installed.json"; then exit 0; fi
    npm ci --prefix "$1" --ignore-scripts --no-audit --no-fund --loglevel error
    cp "$1/package-lock.json" "$1/node_modules/.installed.json"

# The locked packages of a folder in an environment of their own
_python-packages FOLDER ENVIRONMENT:
    #!/usr/bin/env bash
    set -euo pipefail
    if cmp --silent "$1/requirements.txt" "$2/installed.txt"; then exit 0; fi
    python3 -m venv --clear "$2"
    "$2/bin/pip" install --quiet --require-hashes --requirement "$1/requirements.txt"
    cp "$1/requirements.txt" "$2/installed.txt"

_install *PACKAGES:
    #!/usr/bin/env bash
    set -euo pipefail
    if ! command -v apt-get >/dev/null; then
        echo "These tests need the packages $*: install them, then run this command again." >&2
        exit 1
    fi
    as_root=""
    if [ "$(id -u)" != 0 ]; then as_root="sudo"; fi
    $as_root apt-get update --quiet
    $as_root env DEBIAN_FRONTEND=noninteractive apt-get install --quiet --yes --no-install-recommends "$@"

_mutants NAME PUBLISH PACKAGE *FLAGS:
    #!/usr/bin/env bash
    set -euo pipefail
    name=$1 publish=$2 package=$3 found=target/mutants/$1/mutants.out
    shift 3
    export PATH={{ tools }}:$PATH
    # 2: some survived, 3: some timed out. Anything else is no run at all.
    {{ tools }}/cargo-mutants mutants --cargo-arg=--locked --package "$package" --test-package "$package" --copy-target true \
        --output "target/mutants/$name" --timeout 120 "$@" || case $? in 2 | 3) ;; *) exit 1 ;; esac
    cargo run --locked --quiet -p mutants -- score "$name" "$found" $publish

_cargo-mutants: (_cargo-tool "cargo-mutants" "27.1.0")

# It ends a run at the first test that fails.
_cargo-nextest: (_cargo-tool "cargo-nextest" "0.9.143")

_cargo-deny: (_cargo-tool "cargo-deny" "0.20.2")

_cargo-cyclonedx: (_cargo-tool "cargo-cyclonedx" "0.5.9")

# Without optimization, which takes most of the build time: their input is small.
_cargo-tool NAME VERSION:
    cargo install --quiet --debug --locked --root target/tools --version {{ VERSION }} {{ NAME }}
