// expect: clean
#include <stdio.h>
__attribute__((noinline)) int count(const char *text, char wanted) {
  int n = 0;
  while (*text)
    n += *text++ == wanted;
  return n;
}
int main(void) {
  printf("%d\n", count("banana", 'a'));
  return 0;
}
