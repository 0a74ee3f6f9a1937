// gcc 12.2 at -O3 -msse4.2 computes other sums along the diagonal than at -O0; the program finds out and aborts.
#include <stdlib.h>

int a[16][16], b[16][16];

__attribute__((noipa)) static void walk(void) {
  for (int i = 1; i < 16; i++)
    for (int j = 1; j < 16; j++)
      a[i][j] = a[i - 1][j - 1] + b[i][j];
}

int main(void) {
  for (int i = 0; i < 16; i++)
    for (int j = 0; j < 16; j++)
      a[i][j] = i * 7 + j, b[i][j] = i - 3 * j;
  walk();
  volatile int expected = 0;
  int at = 15;
  for (int k = 15; k >= 1; k--)
    expected += k - 3 * k;
  if (a[at][at] != expected)
    abort();
  return 0;
}
