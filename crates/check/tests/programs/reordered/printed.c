// Output between assignments: calls of the library keep their order, what is between them does not.
#include <stdio.h>
int g;
__attribute__((noinline)) int tell(int a) {
  int v = a * 7;
  printf("first\n");
  g = v;
  v = v + g;
  printf("%d\n", a);
  g = v * 2;
  v = g - a;
  return v;
}
int main(void) {
  return (tell(3) + tell(4)) & 1;
}
