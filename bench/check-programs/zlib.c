/* Packs and unpacks a text with zlib, at two levels. */
#include <stdio.h>
#include <string.h>
#include "zlib.h"

static unsigned char text[2000], packed[4000], back[2000];

int main(void) {
  unsigned seed = 7;
  for (unsigned i = 0; i < sizeof text; i++) {
    seed = seed * 1103515245u + 12345u;
    text[i] = "the quick brown fox jumps"[(seed >> 16) % (i % 7 ? 6 : 25)];
  }
  for (int level = 1; level <= 9; level += 8) {
    uLongf packed_size = sizeof packed, back_size = sizeof back;
    int first = compress2(packed, &packed_size, text, sizeof text, level);
    int second = uncompress(back, &back_size, packed, packed_size);
    printf("%d %d %lu %d %lx\n", first, second, packed_size, memcmp(text, back, sizeof text), crc32(0, packed, (uInt)packed_size));
  }
  return 0;
}
