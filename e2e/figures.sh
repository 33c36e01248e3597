#!/usr/bin/env bash
# Makes every published figure of this project and writes e2e/FIGURES.md.
#
#   e2e/figures.sh             the published sizes: about six hours on two cores
#   e2e/figures.sh --table     runs nothing, and writes the table of what was made so far
#   e2e/figures.sh --quick     small sizes, to target/figures/quick.md: a trial of this script
#
#   e2e/figures.sh NAME...     makes these figures alone, such as `startup sandboxes`
#
# A figure belongs to a commit, which its row names. One that was made at this commit is
# not made again, so that a run that was interrupted continues where it stopped; a row of
# an earlier commit stays until its figure is made again. A command that fails stops the
# run; its output is in target/figures.
set -euo pipefail
cd "$(dirname "$0")/.."

quick=false run=true table=e2e/FIGURES.md only=()
case "${1:-}" in
    --table) run=false ;;
    --quick) quick=true table=target/figures/quick.md ;;
    --*)
        echo "figures: unknown argument $1; there are --table, --quick and names" >&2
        exit 2
        ;;
    *) only=("$@") ;;
esac
if ! $quick && [ -n "$(git status --porcelain --untracked-files=no -- . ':!e2e/FIGURES.md')" ]; then
    echo "figures: commit your changes first, a figure belongs to a commit" >&2
    exit 2
fi
commit=$(git rev-parse --short=10 HEAD)
results=target/figures/$commit
if $quick; then results=target/figures/quick; fi
mkdir -p "$results"

# The published size, or the small one.
size() { if $quick; then echo "$2"; else echo "$1"; fi; }

# The lines of a command's output that say what it found, as one. A command that found
# an error has stopped the run.
nothing_wrong() { head -n 1 | sed 's/$/; nothing wrong/'; }
# All lines as one.
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

# The rows by title, in the order of the table: those of earlier commits until they are
# replaced.
declare -A row=()
titles=() earlier=()
if [ -e "$table" ] && ! $quick; then
    while IFS= read -r line; do
        title=${line#| } title=${title%% |*}
        row[$title]=$line
        earlier+=("$title")
    done < <(grep '^| ' "$table" | grep --invert-match '^| what ')
fi

write_table() {
    {
        echo "# Figures"
        echo
        echo "Made by \`just figures\` on $(nproc) cores, each at the commit in its row."
        echo
        echo "| what | result | took | command | commit |"
        echo "|---|---|---|---|---|"
        # Each once, in the order of the figures below.
        for title in "${titles[@]}" "${earlier[@]}"; do
            if [ -n "${row[$title]:-}" ]; then echo "${row[$title]}"; fi
        done | awk '!seen[$0]++'
    } > "$table"
}

# figure NAME TITLE FILTER COMMAND...: runs the command unless its result is there.
names=()
figure() {
    local name=$1 title=$2 filter=$3 result=$results/$1
    shift 3
    names+=("$name")
    titles+=("$title")
    if ! [ -e "$result.seconds" ]; then
        if ! $run || ! is_chosen "$name"; then return; fi
        echo "figures: $title: $*" >&2
        local began=$SECONDS
        if ! "$@" > "$result.out" 2> "$result.err"; then
            echo "figures: $* failed; see $result.out and $result.err" >&2
            exit 1
        fi
        echo $((SECONDS - began)) > "$result.seconds"
    fi
    local minutes=$((($(cat "$result.seconds") + 59) / 60))
    row[$title]="| $title | $("$filter" < "$result.out") | $minutes min | \`$*\` | \`$commit\` |"
    write_table
}

is_chosen() { [ ${#only[@]} = 0 ] || [[ " ${only[*]} " = *" $1 "* ]]; }

figure histories-sqlite "races on SQLite, one broker" nothing_wrong \
    just histories "$(size 1000000 500)"
figure histories-postgres "races on PostgreSQL, two brokers" nothing_wrong \
    just histories "$(size 250000 500)" --engine postgres
figure crashes-sqlite "crashes on SQLite" nothing_wrong \
    just crashes "$(size 300 3)"
figure crashes-postgres "crashes on PostgreSQL, two brokers and the database" nothing_wrong \
    just crashes "$(size 300 3)" --engine postgres
figure failovers "failovers of PostgreSQL to a synchronous standby" nothing_wrong \
    just crashes "$(size 300 3)" --engine postgres --failover
figure soak-sqlite "soak on SQLite, one broker" nothing_wrong \
    just soak "$(size 30 1)"
figure soak-postgres "soak on PostgreSQL, two brokers" nothing_wrong \
    just soak "$(size 30 1)" --engine postgres
figure differential "schema, broker and a plain reading of the specification" bodies \
    just differential "$(size 1000000 1000)"
figure fuzz "fuzzing" targets \
    just fuzz "$(size 1000000 1000)"
figure startup "start-up" measured \
    just bench startup
figure sandboxes "sandboxes" joined \
    just bench-sandboxes
figure wire "the proxy, at the median" added \
    just bench-wire
if ! $quick; then
    for set in contract use-cases store postgres sql; do
        figure "mutants-$set" "mutants: $set" score just mutants "$set"
    done
fi
for name in "${only[@]}"; do
    if [[ " ${names[*]} " != *" $name "* ]]; then
        echo "figures: there is no figure $name; there are ${names[*]}" >&2
        exit 2
    fi
done
if [ ${#row[@]} = 0 ]; then
    echo "figures: nothing was made yet; run it without --table" >&2
    exit 1
fi
write_table
echo "figures: wrote $table" >&2
