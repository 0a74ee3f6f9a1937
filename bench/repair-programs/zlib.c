/* Compresses a text made from the arguments with zlib and takes it apart again. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "zlib.h"

int main(int argc, char **argv) {
  unsigned seed = argc > 1 ? (unsigned)atoi(argv[1]) : 1;
  unsigned long size = argc > 2 ? strtoul(argv[2], 0, 10) : 3000;
  int level = argc > 3 ? atoi(argv[3]) : 6;
  unsigned char *text = malloc(size + 1);
  for (unsigned long i = 0; i < size; i++) {
    seed = seed * 1103515245u + 12345u;
    text[i] = (unsigned char)("the quick brown fox "[(seed >> 16) % 20 & (i & 64 ? 7 : 31) % 20]);
  }
  uLongf packed = compressBound(size), unpacked = size;
  unsigned char *a = malloc(packed), *b = malloc(size + 1);
  int r = compress2(a, &packed, text, size, level);
  int s = uncompress(b, &unpacked, a, packed);
  printf("%d %d %lu %lu %d %lx\n", r, s, packed, unpacked, memcmp(text, b, size), crc32(0, a, (uInt)packed));
  return 0;
}
