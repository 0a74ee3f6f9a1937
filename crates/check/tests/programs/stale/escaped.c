// LLVM issue 56155, with a call that is removed, and with it the assignment that it makes. clang 22 shows the same.
// expect: clang-16 -O1,-O2,-O3 native: stale 9 a
// expect: clang-22 -O1,-O2,-O3 native: stale 9 a
// expect: gcc-12 -Og,-O1,-O2 native: clean
__attribute__((noinline)) void foo(int *p) { *p = 1; }
int main(void) {
  int a = 0;
  foo(&a);
  return 0;
}
