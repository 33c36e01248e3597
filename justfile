# Every command of the project. `just` alone lists them.

set shell := ["bash", "-euo", "pipefail", "-c"]
set positional-arguments

# List the commands
[private]
default:
    @just --list --unsorted

# Start the whole stack: demo, broker, imitated Google and GitHub (all flags: just up --help)
up *FLAGS:
    cargo run -- "$@"

# Install what is missing, check the code, and run every test there is
test: _chromium _postgres lint
    cargo test --workspace --features e2e/browser,e2e/postgres,broker/postgres

# Run only the tests that need nothing but Rust
test-rust:
    cargo test --workspace

# Run only the tests in a real browser; its pictures go to target/screenshots
test-browser: _chromium
    cargo test --workspace --features e2e/browser --test browser

# Run only the storage suite, on SQLite and on PostgreSQL
test-storage: _postgres
    cargo test -p broker --features postgres --test it storage::

# Check the code: format, lints, licences and sources of what we depend on
check: lint _cargo-deny
    cargo deny check bans licenses sources

# Check what we depend on against the advisory database (needs the network)
advisories: _cargo-deny
    cargo deny check advisories

# Check the format and the lints
lint:
    cargo fmt --all -- --check
    cargo clippy --workspace --all-targets --all-features -- --deny warnings

# Run the broker alone, as in production (all commands: just broker --help)
broker *ARGS:
    cargo run --bin broker -- "$@"

# Run the demo alone against any broker (its settings: just consumer --help)
consumer *ARGS:
    cargo run --bin consumer-demo -- "$@"

# Race clients for whatever is single-use (N=1000000; --engine postgres; all flags: just histories --help)
histories *FLAGS:
    cargo run --release -p e2e --bin prove -- histories "$@"

# Kill brokers under load and ask for what they acknowledged (N=300; --engine postgres; all flags: just crashes --help)
crashes *FLAGS:
    cargo run --release -p e2e --bin prove -- crashes "$@"

# Measure how long the stack takes from exec to its first answer
bench-startup:
    cargo bench --quiet -p e2e --bench startup

# Chromium and its driver, from Debian's packages
_chromium:
    #!/usr/bin/env bash
    set -euo pipefail
    if command -v chromium >/dev/null && command -v chromedriver >/dev/null; then exit 0; fi
    {{ just_executable() }} _install chromium chromium-driver

# PostgreSQL's programs, from Debian's packages; the suite starts a server of its own
_postgres:
    #!/usr/bin/env bash
    set -euo pipefail
    if ls -d /usr/lib/postgresql/*/bin >/dev/null 2>&1; then exit 0; fi
    {{ just_executable() }} _install postgresql

_install *PACKAGES:
    #!/usr/bin/env bash
    set -euo pipefail
    if ! command -v apt-get >/dev/null; then
        echo "These tests need $* on this machine: install them and run this again." >&2
        exit 1
    fi
    as_root=""
    if [ "$(id -u)" != 0 ]; then as_root="sudo"; fi
    $as_root apt-get update --quiet
    $as_root env DEBIAN_FRONTEND=noninteractive apt-get install --quiet --yes --no-install-recommends "$@"

_cargo-deny:
    command -v cargo-deny >/dev/null || cargo install --locked cargo-deny
