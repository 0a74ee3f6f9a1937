/* Compresses a text with zstd at three levels, one with a checksum, and restores it. */
#include <stdio.h>
#include <string.h>
#include "zstd.h"

int main(void) {
  static unsigned char text[500], packed[2000], back[500];
  const int levels[] = {1, 4, 13};
  for (unsigned i = 0; i < sizeof text; i++)
    text[i] = (unsigned char)("all the words of a line "[(i * 5 / 4) % 24] + (i % 71 == 5));
  for (unsigned l = 0; l < 3; l++) {
    ZSTD_CCtx *context = ZSTD_createCCtx();
    ZSTD_CCtx_setParameter(context, ZSTD_c_compressionLevel, levels[l]);
    ZSTD_CCtx_setParameter(context, ZSTD_c_windowLog, 12);
    ZSTD_CCtx_setParameter(context, ZSTD_c_checksumFlag, l == 1);
    size_t size = ZSTD_compress2(context, packed, sizeof packed, text, sizeof text);
    size_t whole = ZSTD_decompress(back, sizeof back, packed, size);
    printf("%d: %zu, %zu, %d\n", levels[l], size, whole, memcmp(text, back, sizeof text));
    packed[size / 2] ^= 8;
    printf("broken: %s\n", ZSTD_getErrorName(ZSTD_decompress(back, sizeof back, packed, size)));
    ZSTD_freeCCtx(context);
  }
  return 0;
}
