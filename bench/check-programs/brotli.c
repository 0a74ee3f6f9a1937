/* Compresses a text with brotli at a low and a middle quality and restores it. */
#include <stdio.h>
#include <string.h>
#include <brotli/decode.h>
#include <brotli/encode.h>

int main(void) {
  static unsigned char text[400], packed[2000], back[400];
  int quality;
  for (unsigned i = 0; i < sizeof text; i++)
    text[i] = (unsigned char)("the quick brown "[(i * 5 / 3) % 16] ^ (i % 97 == 0));
  for (quality = 1; quality <= 5; quality += 4) {
    size_t size = sizeof packed, whole = sizeof back;
    if (!BrotliEncoderCompress(quality, 12, BROTLI_MODE_TEXT, sizeof text, text, &size, packed))
      return 1;
    if (BrotliDecoderDecompress(size, packed, &whole, back) != BROTLI_DECODER_RESULT_SUCCESS || memcmp(text, back, sizeof text))
      return 2;
    printf("%d: %zu of %zu\n", quality, size, whole);
  }
  return 0;
}
