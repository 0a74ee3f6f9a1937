// expect: clean
#include <stdio.h>
int main(void) {
  puts("one");
  puts("two");
  return 0;
}
