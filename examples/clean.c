/* Nothing to report at any level. */
#include <stdio.h>
__attribute__((noinline)) int square(int x) {
  return x * x;
}
__attribute__((noinline)) int cube(int x) {
  return square(x) * x;
}
int main(void) {
  printf("%d\n", cube(3));
  return 0;
}
