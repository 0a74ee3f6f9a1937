// The program of LLVM issue 56155 with a call that is inlined: clang 16 forgets its assignment, clang 22 does not.
// expect: clang-16 -O1,-O2,-O3 native: stale 9 a
// expect: clang-22 -O1,-O2,-O3 native: clean
// expect: gcc-12 -Og,-O1,-O2 native: clean
static void foo(int *p) { *p = 1; }
int main(void) {
  int a = 0;
  foo(&a);
  return 0;
}
