/* llvm-project issue 140481: a linear form whose coefficients overflow 64 bits. */
int one = 1, low, high;

int main (void)
{
  low = -5001001 * one + 5001000;
  while (low >= 5001001)
    low = one + 5001000;
  high = -5001000 * low - 5001001;
  if (5001000 * high >= low)
    __builtin_abort ();
  return 0;
}
