#include <stdio.h>
int main(void) {
  for (int i = 0; i < 5; i++)
    printf("%d\n", i);
  return 0;
}
// gcc 12 -O1 gives line 5 no row that is a statement: gdb moves a breakpoint on it behind the loop.
// expect: gcc-12 -Og,-O2,-O3,-Os,-Oz native: clean
// expect: gcc-12 -O1 native,gdb: breakpoint 4
// expect: clang-16 -Og,-O1,-O2,-O3,-Os,-Oz native: clean
