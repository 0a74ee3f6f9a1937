#include "fold.h"
#include <stdio.h>

static long results[4];
static signed char byte;

int main(int argc, char **argv) {
  union narrow u = {77};
  int i;
  for (i = 1; i < argc; i++)
    printf("%s\n", argv[i]);
  results[0] = fold(1, 28, u, &byte);
  printf("%ld\n", results[0]);
  return 0;
}
