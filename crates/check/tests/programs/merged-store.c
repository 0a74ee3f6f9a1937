#include <stdio.h>
int total;
volatile int in = 3;
int main(void) {
  if (in > 5)
    total = in + 1;
  else
    total = in - 1;
  printf("%d\n", total);
  return 0;
}
// Both stores may become one: rule merged-code.
// expect: clean
