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
