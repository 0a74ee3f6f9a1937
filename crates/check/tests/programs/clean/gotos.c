// expect: clean
#include <stdio.h>
volatile int limit = 3;
int main(void) {
  int n = 0;
again:
  printf("%d\n", n);
  n++;
  if (n < limit)
    goto again;
  return 0;
}
