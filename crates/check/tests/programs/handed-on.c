#include <stdio.h>
int total;
int main(int count, char **names) {
  int kept = count + 4;
  total = kept;
  printf("%d %s\n", kept, names ? "names" : "none");
  return 0;
}
// expect: gcc-12 -Og,-O1,-O2,-O3 native: clean
// expect: clang-16 -Og,-O1,-O2,-O3 native: clean
