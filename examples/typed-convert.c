volatile unsigned in = 0x12345;
unsigned out;
static unsigned char narrow(unsigned short half) {
  unsigned char byte = half;
  out = byte + 1;
  return byte;
}
int main(void) {
  unsigned wide = in;
  unsigned mix = (wide ^ 0xffff0000u) & 0xffffu;
  unsigned char got = narrow(mix);
  unsigned char more = narrow((unsigned short)(wide | 0x8000));
  return got == more;
}
// clang mixes typed and untyped operands in the location of `half`, which the standard does not allow.
// expect: clang-16 -O1,-O2,-O3 native: dwarf 5 half
