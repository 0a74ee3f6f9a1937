// expect: clean
#include <stdio.h>
volatile int input = 4;
int main(void) {
  int x = input;
  if (x > 3)
    puts("large");
  else
    puts("small");
  return 0;
}
