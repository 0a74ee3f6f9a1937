/* Compresses a text made from the arguments with bzip2 and takes it apart again. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "bzlib.h"

void bz_internal_error(int code) {
  printf("internal error %d\n", code);
  exit(1);
}

int main(int argc, char **argv) {
  unsigned seed = argc > 1 ? (unsigned)atoi(argv[1]) : 1;
  unsigned size = argc > 2 ? (unsigned)atoi(argv[2]) : 1500;
  unsigned packed = size + size / 50 + 700, unpacked = size;
  char *text = malloc(size + 1), *a = malloc(packed), *b = malloc(size + 1);
  for (unsigned i = 0; i < size; i++) {
    seed = seed * 1103515245u + 12345u;
    text[i] = "the quick brown fox "[(seed >> 16) % 20 & (i & 64 ? 7 : 31) % 20];
  }
  int r = BZ2_bzBuffToBuffCompress(a, &packed, text, size, 1, 0, 0);
  int s = BZ2_bzBuffToBuffDecompress(b, &unpacked, a, packed, 0, 0);
  printf("%d %d %u %u %d\n", r, s, packed, unpacked, memcmp(text, b, size));
  return 0;
}
