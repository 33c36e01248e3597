#!/usr/bin/env bash
# Proves everything at full size, and records in e2e/FIGURES.md what was found, at which
# commit, and on which sources it depends.
#
#   e2e/prove.sh               all that is missing or stale: most of a day on two cores
#   e2e/prove.sh NAME...       these alone, such as `law sandboxes`
#   e2e/prove.sh --quick       small sizes, to target/prove/quick.md: a trial of this script
#   e2e/prove.sh --mark        runs nothing, and marks what is stale
#   e2e/prove.sh --is-fresh NAME    succeeds if NAME was proven for these sources
#
# Each proof that has succeeded is recorded at once, so that a run that was interrupted
# continues where it stopped. One whose sources have changed since is *stale*, which is no
# error. A command that fails stops the run; its output is in target/prove.
set -euo pipefail
cd "$(dirname "$0")/.."

table=e2e/FIGURES.md mode=prove only=()
case "${1:-}" in
    --mark | --quick) mode=${1#--} ;;
    --is-fresh)
        mode=is-fresh
        only=("${2:?the name of a proof}")
        ;;
    --*)
        echo "prove: unknown argument $1; there are --quick, --mark, --is-fresh and names" >&2
        exit 2
        ;;
    *) only=("$@") ;;
esac
if [ $mode = quick ]; then table=target/prove/quick.md; fi
if [ $mode = prove ] && [ -n "$(git status --porcelain --untracked-files=no -- . ":!$table")" ]; then
    echo "prove: commit your changes first, a proof belongs to a commit" >&2
    exit 2
fi
commit=$(git rev-parse --short=10 HEAD)
results=target/prove
mkdir -p "$results"

# The published size, or the small one.
size() { if [ $mode = quick ]; then echo "$2"; else echo "$1"; fi; }

# What is recorded of a command's output, on one line. One that found an error has stopped
# the run.
passed() { echo "passed"; }
nothing_wrong() { head -n 1 | sed 's/$/; nothing wrong/'; }
verdict() { sed '/^$/q' | sed 's/^ *//' | joined | sed 's/; *$//'; }
joined() { paste --serial --delimiters='|' | sed 's/:|/:/; s/|/; /g' | tr --squeeze-repeats ' '; }
# The rows of a table: what was measured, the figure, and what it is compared with.
measured() { awk -F ' [|] ' 'NR > 2 { printf "%s%s: %s (%s)", separator, substr($1, 3), $3, $2; separator = "; " } END { print "" }'; }
# Rows of: name, time alone, time through the proxy, time added.
added() {
    awk '/µs/ {
        name = $1
        for (i = 2; i <= NF - 6; i++) name = name " " $i
        printf "%s%s: %s µs more than %s µs", separator, name, $(NF - 1), $(NF - 5)
        separator = "; "
    } END { print "" }'
}
score() { grep ' mutants caught ' | sed 's/^[a-z-]*: //'; }
targets() { grep -oE '[a-z_0-9]+: [0-9]+ inputs' | awk '{ sum += $2 } END { printf "%d inputs for %d targets, none broke one\n", sum, NR }'; }
bodies() { grep -oE '[0-9]+ bodies: ' | awk '{ sum += $1 } END { printf "%d bodies of %d requests, no disagreement\n", sum, NR }'; }

# The digest of some sources, as they are committed or staged.
digest() {
    # shellcheck disable=SC2086 # the sources are words
    git ls-files --stage -- $1 | awk '{ print $2, $4 }' | sha256sum | head -c 10
}

# The rows of the table, by the name in their first column.
declare -A row=()
if [ -e $table ]; then
    while IFS= read -r line; do
        name=${line#| \`} name=${name%%\`*}
        row[$name]=$line
    done < <(grep '^| `' $table || true)
fi
names=()

write_table() {
    {
        echo "# Figures"
        echo
        echo "Made by \`just prove\` on $(nproc) cores, each at the commit in its row. A *stale* one was made"
        echo "before its sources, which stand beside their digest, changed; \`just test\` marks it."
        echo
        echo "| name | what | result | took | command | commit | depends on |"
        echo "|---|---|---|---|---|---|---|"
        for name in "${names[@]}"; do
            if [ -n "${row[$name]:-}" ]; then echo "${row[$name]}"; fi
        done
    } > $table
}

is_fresh() { [[ ${row[$1]:-} = *" @$2 |" ]]; }

# proof NAME TITLE SOURCES FILTER COMMAND...: runs the command unless it is recorded for
# these sources.
proof() {
    local name=$1 title=$2 sources=$3 filter=$4 now output=$results/$1.out
    shift 4
    names+=("$name")
    if [ ${#only[@]} != 0 ] && [[ " ${only[*]} " != *" $name "* ]] && [ $mode != mark ]; then return; fi
    now=$(digest "$sources")
    case $mode in
        is-fresh) is_fresh "$name" "$now" && exit 0 || exit 1 ;;
        mark)
            local fresh="\\1\\3"
            if ! is_fresh "$name" "$now"; then fresh="\\1 *stale*\\3"; fi
            if [ -n "${row[$name]:-}" ]; then
                row[$name]=$(sed -E "s/(\`[0-9a-f]{10}\`)( \*stale\*)?( \| [^|]* \|)\$/$fresh/" <<< "${row[$name]}")
                if [[ ${row[$name]} = *"*stale*"* ]]; then echo "stale: $title" >&2; fi
            fi
            return
            ;;
    esac
    if is_fresh "$name" "$now" && [ ${#only[@]} = 0 ]; then return; fi
    echo "prove: $title: $*" >&2
    local began=$SECONDS
    # What a command keeps for the next one is of this run alone.
    rm -rf "$results/$name.kept"
    if ! "$@" > "$output" 2> "$output.err"; then
        echo "prove: $* failed; see $output and $output.err" >&2
        exit 1
    fi
    local minutes=$(((SECONDS - began + 59) / 60)) found
    found=$("$filter" < "$output")
    row[$name]="| \`$name\` | $title | $found | $minutes min | \`$*\` | \`$commit\` | ${sources//:!*/} @$now |"
    write_table
}

BROKER="broker/src broker/contract/src"
STACK="$BROKER e2e/stack mock-upstream/src consumer-demo/src"
RACES="$BROKER broker/checker/src e2e/agent/src e2e/consistency/src"
PACKAGES="packaging e2e/kit"

proof licences "licences and sources of the dependencies" "Cargo.lock deny.toml" passed \
    just check-licences
proof law "every fault of a consumer, in every check" "$STACK e2e/agent/src e2e/examiner e2e/consumers" passed \
    env FULL_SIZE=1 just test-examiner
proof languages "consumers in Go, Java, PHP and Ruby, and their faults" "$STACK e2e/agent/src e2e/examiner e2e/consumers" passed \
    just test-languages
proof explore-sqlite "every transition of one login, on SQLite" "$RACES" nothing_wrong \
    just explore --engine sqlite --every "$(size 1 50)"
proof explore-postgres "every transition of one login, on PostgreSQL with two brokers" "$RACES" nothing_wrong \
    just explore --engine postgres --every "$(size 1 50)"
proof histories-sqlite "races on SQLite, one broker" "$RACES" nothing_wrong \
    just histories "$(size 1000000 500)"
proof histories-postgres "races on PostgreSQL, two brokers" "$RACES" nothing_wrong \
    just histories "$(size 250000 500)" --engine postgres
proof crashes-sqlite "crashes on SQLite" "$RACES" nothing_wrong \
    just crashes "$(size 300 3)"
proof crashes-postgres "crashes on PostgreSQL, two brokers and the database" "$RACES" nothing_wrong \
    just crashes "$(size 300 3)" --engine postgres
proof failovers "failovers of PostgreSQL to a synchronous standby" "$RACES" nothing_wrong \
    just crashes "$(size 300 3)" --engine postgres --failover
proof patroni "a primary under Patroni that is frozen, cut off and killed" "$RACES e2e/testkit/src/postgres" nothing_wrong \
    just crashes "$(size 60 3)" --engine postgres --patroni
proof soak-sqlite "soak on SQLite, one broker" "$RACES mock-upstream/src" nothing_wrong \
    just soak --logins "$(size 100000 500)" --people 128 --log target/prove/soak-sqlite.kept
proof soak-log "that soak's log, judged by itself" "$RACES mock-upstream/src" verdict \
    just broker verify-log target/prove/soak-sqlite.kept/broker-0.log
proof soak-postgres "soak on PostgreSQL, two brokers" "$RACES mock-upstream/src" nothing_wrong \
    just soak "$(size 30 1)" --engine postgres
proof breaks "each known break of the broker, found by the checker" "$RACES e2e/consistency/tests" passed \
    just test-checker
proof attacks "the attack on each guard, carried out without it" "$STACK e2e/consistency e2e/tests/browser" passed \
    just test-attacks
proof differential "bodies read by the published schema and by the broker" "broker/contract broker/src/http" bodies \
    just differential "$(size 1000000 1000)"
proof fuzz "fuzzing" "$BROKER e2e/stack/src broker/corpus e2e/stack/corpus" targets \
    just fuzz "$(size 1000000 1000)"
proof sandbox-tests "400 tests at once in Python and in TypeScript, each in its sandbox" "$STACK e2e/examples/sandboxes" passed \
    env SANDBOX_TESTS=400 just test-sandboxes
proof rust-clients "client libraries in Rust" "e2e/clients/rust" passed \
    just test-rust-clients
proof rust-sandboxes "400 tests at once in Rust" "e2e/examples/sandboxes/rust" passed \
    env SANDBOX_TESTS=400 just test-rust-sandboxes
proof packages "packages" "$PACKAGES" passed \
    just test-dist
proof containers "the containers' files" "$PACKAGES" passed \
    just test-container
proof repository "the files for a consumer's repository" "$PACKAGES" passed \
    just test-repository
proof startup "start-up" "$STACK" measured \
    just bench startup
proof sandboxes "sandboxes" "$STACK" joined \
    just bench-sandboxes
proof wire "the proxy, at the median" "e2e/stack/src/proxy e2e/stack/src/proxy.rs" added \
    just bench-wire
if [ $mode != quick ]; then
    for set in contract use-cases store postgres http upstream demo mock; do
        proof "mutants-$set" "mutants: $set" "$(just _mutated $set)" score just mutants "$set" "" "$(just _published "$set")"
    done
fi
for name in "${only[@]}"; do
    if [[ " ${names[*]} " != *" $name "* ]]; then
        echo "prove: there is no proof $name; there are ${names[*]}" >&2
        exit 2
    fi
done
write_table
