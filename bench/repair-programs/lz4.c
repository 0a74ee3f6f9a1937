/* Compresses a text made from the arguments with lz4, quickly and well, and takes it apart again. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "lz4.h"
#include "lz4hc.h"

int main(int argc, char **argv) {
  unsigned seed = argc > 1 ? (unsigned)atoi(argv[1]) : 1;
  int size = argc > 2 ? atoi(argv[2]) : 3000;
  int level = argc > 3 ? atoi(argv[3]) : 9;
  int room = LZ4_compressBound(size);
  char *text = malloc((size_t)size + 1), *a = malloc((size_t)room), *b = malloc((size_t)size + 1);
  for (int i = 0; i < size; i++) {
    seed = seed * 1103515245u + 12345u;
    text[i] = "the quick brown fox "[(seed >> 16) % 20 & (i & 64 ? 7 : 31) % 20];
  }
  int fast = LZ4_compress_default(text, a, size, room);
  int back = LZ4_decompress_safe(a, b, fast, size);
  int same = memcmp(text, b, (size_t)size);
  int well = LZ4_compress_HC(text, a, size, room, level);
  int again = LZ4_decompress_safe(a, b, well, size);
  printf("%d %d %d %d %d %d\n", fast, back, same, well, again, memcmp(text, b, (size_t)size));
  return 0;
}
