/* Hashes texts of many lengths with the four hashes of xxHash, in one go and in pieces. */
#include <stdio.h>
#include "xxhash.h"

int main(void) {
  static unsigned char text[1200];
  const size_t lengths[] = {0, 3, 8, 16, 31, 100, 200, 241, 1200};
  for (unsigned i = 0; i < sizeof text; i++)
    text[i] = (unsigned char)(i * i / 5 + 7 * i);
  XXH3_state_t *state = XXH3_createState();
  for (unsigned l = 0; l < sizeof lengths / sizeof *lengths; l++) {
    size_t n = lengths[l];
    XXH128_hash_t wide = XXH3_128bits_withSeed(text, n, 5);
    XXH3_64bits_reset(state);
    for (size_t at = 0; at < n; at += 70)
      XXH3_64bits_update(state, text + at, n - at < 70 ? n - at : 70);
    printf("%zu: %x %llx %llx %llx%llx %llx\n", n, XXH32(text, n, 1), (unsigned long long)XXH64(text, n, 2),
           (unsigned long long)XXH3_64bits(text, n), (unsigned long long)wide.high64, (unsigned long long)wide.low64,
           (unsigned long long)XXH3_64bits_digest(state));
  }
  XXH3_freeState(state);
  return 0;
}
