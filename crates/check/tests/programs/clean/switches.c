// expect: clean
#include <stdio.h>
volatile int input = 2;
int main(void) {
  switch (input) {
  case 1:
    puts("one");
    break;
  case 2:
    puts("two");
    break;
  default:
    puts("many");
  }
  return 0;
}
