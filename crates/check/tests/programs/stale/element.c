// One member of two is stale; the other is as it was.
// expect: clang-19 -O1,-O2 native: stale 9 p; stale 10 p
volatile int sink;
struct pair { int x, y; };
__attribute__((noinline)) void set(struct pair *p) { p->y = 9; }
__attribute__((noinline)) int whole(int n) {
  struct pair p = {n, 1};
  set(&p);
  sink = n;
  return 7;
}
int main(void) {
  return whole(5) - 7;
}
