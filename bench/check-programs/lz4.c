/* Packs and unpacks a text with lz4, both ways to pack. */
#include <stdio.h>
#include <string.h>
#include "lz4.h"
#include "lz4hc.h"

static char text[3000], packed[6000], back[3000];

int main(void) {
  unsigned seed = 7;
  for (unsigned i = 0; i < sizeof text; i++) {
    seed = seed * 1103515245u + 12345u;
    text[i] = "the quick brown fox jumps"[(seed >> 16) % (i % 7 ? 6 : 25)];
  }
  for (int way = 0; way < 2; way++) {
    int size = way ? LZ4_compress_HC(text, packed, sizeof text, sizeof packed, 9)
                   : LZ4_compress_default(text, packed, sizeof text, sizeof packed);
    int again = LZ4_decompress_safe(packed, back, size, sizeof back);
    printf("%d %d %d\n", size, again, memcmp(text, back, sizeof text));
  }
  return 0;
}
