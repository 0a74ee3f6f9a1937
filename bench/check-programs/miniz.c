/* Compresses a text with miniz at two levels and restores it. */
#include <stdio.h>
#include <string.h>
#include "miniz.h"

int main(void) {
  static unsigned char text[600], packed[2000], back[600];
  int level;
  for (unsigned i = 0; i < sizeof text; i++)
    text[i] = (unsigned char)("abcdefgh"[(i * i / 7) % 8] + i / 200);
  for (level = 1; level <= 6; level += 5) {
    mz_ulong size = sizeof packed, whole = sizeof back;
    if (mz_compress2(packed, &size, text, sizeof text, level) != MZ_OK)
      return 1;
    if (mz_uncompress(back, &whole, packed, size) != MZ_OK || memcmp(text, back, sizeof text))
      return 2;
    printf("%d: %lu of %lu, %lx\n", level, (unsigned long)size, (unsigned long)whole, (unsigned long)mz_adler32(1, back, whole));
  }
  return 0;
}
