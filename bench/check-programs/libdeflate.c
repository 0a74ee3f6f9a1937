/* Compresses a text with libdeflate at a greedy, a lazy and an exhaustive level and restores it. */
#include <stdio.h>
#include <string.h>
#include "libdeflate.h"

int main(void) {
  static unsigned char text[700], packed[2000], back[700];
  const int levels[] = {1, 6, 10};
  for (unsigned i = 0; i < sizeof text; i++)
    text[i] = (unsigned char)("one sentence of words "[(i * 7 / 5) % 22] + (i % 89 == 3));
  for (unsigned l = 0; l < 3; l++) {
    struct libdeflate_compressor *compressor = libdeflate_alloc_compressor(levels[l]);
    struct libdeflate_decompressor *decompressor = libdeflate_alloc_decompressor();
    size_t whole = 0, size = libdeflate_zlib_compress(compressor, text, sizeof text, packed, sizeof packed);
    enum libdeflate_result result = libdeflate_zlib_decompress(decompressor, packed, size, back, sizeof back, &whole);
    printf("%d: %zu, %d, %zu, %d, %x\n", levels[l], size, (int)result, whole, memcmp(text, back, sizeof text),
           (unsigned)libdeflate_crc32(0, back, whole));
    packed[size / 2] ^= 16;
    printf("broken: %d\n", (int)libdeflate_zlib_decompress(decompressor, packed, size, back, sizeof back, &whole));
    libdeflate_free_compressor(compressor);
    libdeflate_free_decompressor(decompressor);
  }
  return 0;
}
