// expect: clean
#include <stdio.h>
int main(void) {
  for (int i = 0; i < 5; i++)
    printf("%d\n", i);
  return 0;
}
