# Signs in by both flows, with the six commands of the contract's page as arguments.
cd "$(mktemp -d)"
value() { cut -d '"' -f 4 answer; }
visit() { curl -sL -b '' -o /dev/null -w '%{url_effective}\n' "$1"; }

eval "$1" > answer
visit "$(value)"
eval "$2"

eval "$3" > answer
end=$(visit "$(cat answer)")
code=${end#*code=} code=${code%%&*}
eval "$4" > answer
token=$(value)
eval "$5"
eval "$6"
rm -r "$PWD"
