#include <stdio.h>
volatile double input = 2.0;
__attribute__((noinline)) double root(double x) {
  double guess = x;
  for (int i = 0; i < 6; i++)
    guess = (guess + x / guess) / 2;
  return guess;
}
int main(void) {
  printf("%.6f\n", root(input));
  return 0;
}
// The block of the loop's counter reaches over the return.
// expect: gcc-12 -O3 native: scope 7 i
