/* llvm-project 90936: two narrow stores become one, and bits that a shift brings in are taken from its input. */
int printf (const char *, ...);
unsigned short halves[2];
unsigned given = 0x654321;

__attribute__ ((noinline)) void split (unsigned _BitInt(24) value, unsigned short *to)
{
  unsigned _BitInt(24) scaled = value * 7;
  to[0] = scaled;
  to[1] = scaled >> 16;
}

int main (void)
{
  split (given, halves);
  printf ("%x %x\n", halves[0], halves[1]);
  return 0;
}
