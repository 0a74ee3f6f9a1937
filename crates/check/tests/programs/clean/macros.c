// expect: clean
#include <stdio.h>
#define MAX(a, b) ({ int _a = (a); int _b = (b); _a > _b ? _a : _b; })
volatile int p = 3, q = 5;
int main(void) {
  int m = MAX(p, q);
  printf("%d\n", m);
  return 0;
}
