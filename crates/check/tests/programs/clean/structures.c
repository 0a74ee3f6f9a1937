// expect: clean
#include <stdio.h>
struct point { int x, y; };
__attribute__((noinline)) int norm(struct point p) {
  return p.x * p.x + p.y * p.y;
}
int main(void) {
  struct point p = {3, 4};
  printf("%d\n", norm(p));
  return 0;
}
