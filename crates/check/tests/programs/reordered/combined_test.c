// The subtraction is combined with the test of its result, and carries the line of the test.
#include <stdio.h>
__attribute__((noinline)) static int check(const unsigned short *count, int most) {
  int left = 1;
  for (int len = 1; len <= most; len++) {
    left <<= 1;
    left -= count[len];
    if (left < 0)
      return -1;
  }
  return left;
}
int main(void) {
  unsigned short count[8] = {0, 1, 0, 1, 2, 1, 0, 0};
  printf("%d\n", check(count, 7));
  return 0;
}
