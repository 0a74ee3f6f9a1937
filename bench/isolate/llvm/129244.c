/* llvm-project 129244: numbers that wrap around are put into narrower lanes before they become floating. */
int printf (const char *, ...);
unsigned char given[2] = { 2, 3 };
double turned[2];

static void turn (const unsigned char *from, double *to)
{
  to[0] = (double) -(unsigned long) from[0] / 3.0;
  to[1] = (double) -(unsigned long) from[1] / 3.0;
}

int main (void)
{
  turn (given, turned);
  printf ("%g %g\n", turned[0], turned[1]);
  return 0;
}
