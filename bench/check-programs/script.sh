# What the shell under test runs: built-in commands only, since it may start no other program.
total=0
for word in alpha beta gamma delta; do
    case $word in
        a*|b*) total=$((total + ${#word})) ;;
        *ta) total=$((total * 2)) ;;
        *) total=$((total - 1)) ;;
    esac
done
double() { local n=$1; n=$((n * 2)); return "$n"; }
double 21 || echo "returned $?"
i=0
while [ "$i" -lt 5 ]; do
    i=$((i + 1))
    [ "$i" -eq 3 ] && continue
    set -- "$@" "item$i"
done
echo "$total $# ${2%?} ${1#it} ${unset:-default}"
printf '%s-%03d\n' tail "$total"
trap 'echo bye' EXIT
