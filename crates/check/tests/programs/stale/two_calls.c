// Two variables, each assigned through a pointer by a call that is removed; the lines after each call show the old values.
// expect: clang-16 -O1,-O2 native: stale 10 a; stale 12 a; stale 12 b; stale 13 a; stale 13 b
volatile int sink;
__attribute__((noinline)) void bump(int *p, int by) { *p += by; }
__attribute__((noinline)) int many(int n) {
  int a = n;
  int b = 2 * n;
  //
  bump(&a, 3);
  sink = n;
  bump(&b, 4);
  sink = n + 1;
  return n;
}
int main(void) {
  return many(4) - 4;
}
