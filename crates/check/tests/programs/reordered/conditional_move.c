// A conditional value is computed each time, and taken when the condition holds.
#include <stdio.h>
__attribute__((noinline)) static int clip(const int *from, int n) {
  int kept = 0;
  for (int i = 0; i < n; i++) {
    int v = from[i];
    int low = v - 3;
    if (v > 7)
      v = 7;
    if (low < 0)
      low = 0;
    kept += v * low;
  }
  return kept;
}
int main(void) {
  int from[6] = {1, 9, 4, 12, 7, 3};
  printf("%d\n", clip(from, 6));
  return 0;
}
