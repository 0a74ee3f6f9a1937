int g = 5, sink;
__attribute__((noinline)) static void use(unsigned v) { sink += v; }
static unsigned mask(unsigned char p, unsigned q) {
  unsigned m = (p & 0x7f) + q;
  use(m & 0xf);
  return m & 0xf;
}
int main(void) {
  unsigned t = 0;
  for (int i = 0; i < 3; i++)
    t += mask(g + i * 100, i);
  return t == 1000;
}
