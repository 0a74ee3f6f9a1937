# Fields, arrays, loops, functions, regular expressions and formats, for mawk.
function fib(n) { return n < 2 ? n : fib(n - 1) + fib(n - 2) }
BEGIN {
  n = split("pear,apple,fig,apple,plum", words, ",")
  for (i = 1; i <= n; i++) count[words[i]]++
  for (i = 1; i <= n; i++) if (words[i] in count) { out = out sprintf("%s=%d ", words[i], count[words[i]]); delete count[words[i]] }
  print out, fib(7)
  s = "the quick brown fox"
  gsub(/[aeiou]+/, "<&>", s)
  print toupper(substr(s, 1, 9)), match(s, /br.*n/), RSTART, RLENGTH, index(s, "fox")
  while (k < 5) { if (k == 3) break; k++ }
  printf "%5.2f|%-6s|%x %d\n", 22 / 7, "ab", 255, k ^ 2 % 7
}
