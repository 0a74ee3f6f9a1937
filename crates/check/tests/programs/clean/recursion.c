// expect: clean
#include <stdio.h>
__attribute__((noinline)) unsigned long factorial(unsigned n) {
  if (n < 2)
    return 1;
  return n * factorial(n - 1);
}
int main(void) {
  printf("%lu\n", factorial(10));
  return 0;
}
