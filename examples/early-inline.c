typedef unsigned u32_t;
char c; u32_t d; int e;
int a(b) { return b; }

static int fun (u32_t p_6) {
  for (; c; c = 5)
   p_6 || d;
}
int main () {
  int f;
  e = a(8);
  f = e && 9;
  fun(f);
}
// Snippet 5 of Di Luna et al. in gcc: main's first address lies in the range of the inlined `fun`.
// expect: gcc-12 -O2 gdb,native: backtrace 11; scope 11 p_6
// expect: gcc-12 -O2 lldb: clean
