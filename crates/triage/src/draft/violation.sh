# From here on the script is the same for every violation: it uses nothing but a debugger, awk and the variables above.

# The addresses of the line's rows in the line table, as gdb reads it (in the file, not in the running program).
gdb_rows() {
  "$GDB" -nx -batch -ex "maintenance info line-table $FILE" "$work/a.out" 2>/dev/null |
    awk -v line="$LINE" '$2 == line && $3 ~ /^0x/ { print $3 }' | sort -u
}

# What gdb is asked at every stop; -s goes on where a name is not known.
gdb_questions() {
  printf '%s\n' 'echo @@stop\n'
  echo frame
  case $KIND in
    line) ;;
    backtrace | self) echo backtrace ;;
  esac
  if [ -n "$VARIABLE" ]; then
    case $KIND in
      scope | self | dwarf) printf 'info args\ninfo locals\n' ;;
    esac
    for format in '' /d /u; do echo "frame apply 1 -q -s -- print$format $VARIABLE"; done
  fi
  printf '%s\n' 'echo @@end\n'
}

# Where the C library's symbols are installed, stepping would go through it.
gdb_setup() {
  printf 'set %s\n' 'pagination off' 'confirm off' 'width 0' 'print elements 0' 'print repeats 0' 'print frame-arguments none' \
    'disable-randomization on' 'language c' 'debug-file-directory /nonexistent'
}

# The end of the program ends the commands with an error, as is meant.
gdb_run() { "$GDB" -nx -batch -x "$work/commands" "$work/a.out" >"$work/session" 2>&1 || :; }

# Breakpoints on all rows of the line, and a look at each stop.
gdb_by_rows() {
  rows=$(gdb_rows)
  [ -n "$rows" ] || return 1
  main=$("$GDB" -nx -batch -ex 'info address main' "$work/a.out" 2>/dev/null | sed -n 's/.* \(0x[0-9a-f]*\).*/\1/p')
  {
    gdb_setup
    echo 'starti >/dev/null'
    for row in $rows; do echo "break *((char *)&main - $main + $row)"; done
    printf 'set $n = 0\nwhile $n < 2000\ncontinue\n'
    gdb_questions
    printf 'set $n = $n + 1\nend\n'
  } >"$work/commands"
  gdb_run
}

# Steps from the beginning of main, and a look at each stop: shows what only stepping shows.
gdb_by_steps() {
  {
    gdb_setup
    printf 'set language auto\nbreak main\nrun >/dev/null\nset $n = 0\nwhile $n < 3000\n'
    gdb_questions
    printf 'step\nset $n = $n + 1\nend\n'
  } >"$work/commands"
  gdb_run
}

lldb_rows() {
  "$LLDB" -X -b -o "image dump line-table $FILE" "$work/a.out" 2>/dev/null |
    awk -v at="$FILE:$LINE" '$1 ~ /^0x.*:$/ && (n = index($2, at)) && substr($2, n + length(at)) !~ /^[0-9]/ { sub(/:$/, "", $1); print $1 }' | sort -u
}

lldb_session() {
  # $1: what to do between stops, $2: how often.
  i=0
  while [ $i -lt "$2" ]; do
    echo 'frame info'
    case $KIND in
      backtrace | self) echo 'thread backtrace' ;;
    esac
    if [ -n "$VARIABLE" ]; then
      case $KIND in
        scope | self | dwarf) echo 'frame variable' ;;
      esac
      for format in '' '--format d' '--format u'; do echo "frame variable $format $VARIABLE"; done
    fi
    echo "$1"
    i=$((i + 1))
  done
}

lldb_run() {
  # lldb repeats every command before its answer: that marks stops and questions in the session.
  sed -i '1i settings set interpreter.stop-command-source-on-error false' "$work/commands"
  "$LLDB" -X -b -s "$work/commands" "$work/a.out" 2>&1 |
    awk '/^\(lldb\) frame info/ { print "@@stop"; next } /^\(lldb\) (continue|thread step-in)/ { print "@@end"; next } /^\(lldb\)/ { next } { print }' >"$work/session"
}

lldb_by_rows() {
  rows=$(lldb_rows)
  [ -n "$rows" ] || return 1
  {
    for row in $rows; do echo "breakpoint set --shlib a.out --address $row"; done
    echo 'process launch -o /dev/null'
    lldb_session continue 300
  } >"$work/commands"
  lldb_run
}

lldb_by_steps() {
  {
    printf 'breakpoint set --name main\nprocess launch -o /dev/null\n'
    lldb_session 'thread step-in' 1000
  } >"$work/commands"
  lldb_run
}

# Reads the session stop by stop; prints the first that shows the fault and succeeds, or says what there was instead.
judge() {
  awk -v at="$FILE:$LINE" -v kind="$KIND" -v func="$FUNCTION" -v frames="$FRAMES" -v variable="$VARIABLE" \
    -v value="$VALUE" -v allowed="$ALLOWED" -v element="$ELEMENT" -v how="$1" '
  function is_here(text,   n) { n = index(text, at); return n && substr(text, n + length(at)) !~ /^[0-9]/ }
  # The function of a frame as gdb ("#0  0x… in f (…) at …") or lldb ("frame #0: 0x… a.out`main [inlined] f(…) at …") prints it.
  function name_of(text) {
    sub(/^[ *]*/, "", text)
    if (text ~ /^frame #/) { sub(/^[^`]*`/, "", text); sub(/^.*\[inlined\] /, "", text) }
    else { sub(/^#[0-9]+ +/, "", text); sub(/^0x[0-9a-f]+ in /, "", text) }
    gsub(/\(anonymous namespace\)/, "{anonymous}", text)
    sub(/[ (+].*/, "", text)
    return text
  }
  # The scalar number n of a printed value, counted through all members.
  function scalar(text, n,   parts, i, seen) {
    gsub(/\[[0-9]+\] = /, "", text); gsub(/[A-Za-z_][A-Za-z_0-9]* = /, "", text)
    split(text, parts, /[{}(),\n]+/)
    for (i = 1; i in parts; i++) {
      gsub(/^ +| +$/, "", parts[i])
      if (parts[i] != "" && seen++ == n) return parts[i]
    }
    return ""
  }
  function shows() {
    if (kind == "backtrace") return here && stack == frames
    if (kind == "self" && variable == "") return wrong
    if (kind == "scope" || kind == "self") return here && listed
    if (kind == "dwarf") return here && broken
    if (kind == "lost") return here && gone && name == func
    if (kind == "parameter" || kind == "value" || kind == "stale") return here && matched && name == func
    return here
  }
  function finish() {
    if (!open) return
    take()
    open = 0
    stops += here
    if (here && first == "") first = block
    if (shows()) { found = 1; exit }
  }
  # A printed value may go over several lines: it is judged when the next one begins. What stands in a register by chance
  # differs from run to run, so any number will do that the unoptimized program never has, where those are all known.
  function take(   word) {
    if (printed == "") return
    word = scalar(printed, element)
    sub(/ \047.*/, "", word)
    printed = ""
    if (word == value) matched = 1
    if (allowed == "" || judged || word !~ /^-?[0-9]+$/) return
    judged = 1
    if (index(", " allowed ", ", ", " word ", ") == 0) matched = 1
  }
  /^@@stop/ { finish(); open = 1; block = stack = printed = ""; here = wrong = listed = broken = gone = matched = judged = lines = 0; next }
  /^@@end/ { finish(); next }
  !open { next }
  {
    block = block "          " $0 "\n"
    lines++
    if (lines == 1) { here = is_here($0); name = name_of($0) }
    if ($0 ~ /^[ *]*(frame )?#[0-9]+/) {
      if (lines > 1) stack = stack (stack == "" ? "" : " ") name_of($0)
      if (name_of($0) == func && is_here($0)) wrong = 1
    }
    if (variable == "") next
    plain = $0
    sub(/^\([^)]*\) /, "", plain)
    if (index(plain, variable " = ") == 1) { listed = 1; take(); printed = substr(plain, length(variable) + 4) "\n" }
    else if (plain ~ /^\$[0-9]+ = /) { listed = 1; take(); sub(/^[^=]*= /, "", plain); printed = plain "\n" }
    else if (printed != "") printed = printed plain "\n"
    if (plain ~ /optimized out>|not available>/) gone = 1
    if (index(plain, variable) && plain ~ /<error|[Ee]rror:|[Cc]annot access memory|[Ii]nvalid|[Uu]nhandled|[Aa]sked for position|not (available|supported)/) broken = 1
  }
  END {
    finish()
    if (found) { printf "%s says:\n%s", how, block; exit 0 }
    if (stops) printf "%s says at %d stops on %s, none of which shows it, first:\n%s", how, stops, at, first
    else printf "%s says: no stop on %s\n", how, at
    exit 1
  }' "$work/session"
}

is_there() { command -v "$1" >/dev/null 2>&1; }

try() {
  # $1: gdb or lldb, $2: how it is driven, $3: in words
  : >"$work/session"
  "$1_$2" || { echo "$1 says: no row for $FILE:$LINE in the line table"; return 1; }
  judge "$1 ($3)" && { echo 'The fault shows.'; exit 0; }
}

# A breakpoint on the line, set as a user sets it, and the line and function of each stop.
gdb_by_break() {
  {
    gdb_setup
    printf 'break %s:%s\nrun >/dev/null\nset $n = 0\nwhile $n < 200\n' "$FILE" "$LINE"
    printf '%s\n' 'echo @@stop\n' frame 'echo @@end\n'
    printf 'continue\nset $n = $n + 1\nend\n'
  } >"$work/commands"
  gdb_run
}

lldb_by_break() {
  {
    printf 'breakpoint set --file %s --line %s\nprocess launch -o /dev/null\n' "$FILE" "$LINE"
    KIND=line VARIABLE= lldb_session continue 200
  } >"$work/commands"
  lldb_run
}

# Whether a breakpoint goes astray: hit on its line and in its function though the line never runs, or not hit there though it runs.
astray() {
  # $1: gdb or lldb
  : >"$work/session"
  "$1_by_break"
  hits=$(KIND=line judge "$1" >"$work/judged" && echo yes || echo no)
  sed "s/^/  /" "$work/judged"
  case $EXPECTED in
    *'is not hit'*) [ "$hits" = yes ] ;;
    *) [ "$hits" = no ] ;;
  esac
}

is_there "$GDB" || is_there "$LLDB" || { echo "neither $GDB nor $LLDB is there: set GDB= or LLDB=" >&2; exit 2; }
echo "expected: $EXPECTED"
for debugger in $DEBUGGERS; do
  case $debugger in
    gdb) is_there "$GDB" || continue ;;
    lldb) is_there "$LLDB" || continue ;;
  esac
  if [ "$KIND" = breakpoint ]; then
    astray $debugger && { echo 'The fault shows.'; exit 0; }
    continue
  fi
  try $debugger by_rows "stopped on the rows of $FILE:$LINE"
  # The second one is asked for a second opinion only: stepping takes long.
  [ $debugger != "${DEBUGGERS%% *}" ] || try $debugger by_steps 'stepping from main'
done
echo 'The fault does not show.'
exit 1
