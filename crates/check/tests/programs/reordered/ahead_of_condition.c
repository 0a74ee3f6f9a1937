// The loop's statement runs ahead of the loop's condition, once for nothing each time; the last instruction keeps the result out.
#include <stdio.h>
int table[16];
__attribute__((noinline)) static unsigned fill(unsigned len, unsigned most) {
  unsigned huff = 0;
  unsigned sum = 0;
  for (unsigned n = 0; n < most; n++) {
    unsigned incr = 1U << (len - 1);
    sum = sum * 3 + huff;
    while (huff & incr)
      incr >>= 1;
    if (incr != 0) {
      huff &= incr - 1;
      huff += incr;
    } else
      huff = 0;
    sum += huff;
  }
  return sum;
}
int main(void) {
  printf("%u\n", fill(3, 8));
  return 0;
}
