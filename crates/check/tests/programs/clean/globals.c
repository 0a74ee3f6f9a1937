// expect: clean
#include <stdio.h>
static int counter;
int history[4];
__attribute__((noinline)) void tick(int by) {
  history[counter & 3] = by;
  counter += by;
}
int main(void) {
  tick(1);
  tick(2);
  printf("%d %d\n", counter, history[1]);
  return 0;
}
