/* llvm-project 140481: the coefficients of a linear form overflow 64 bits while it is put together. */
int printf (const char *, ...);
int far = -6953001, kept, seen;

static int crosses (int from)
{
  int near, back;
  if (from > 0)
    return 2;
  near = from + 6953000;
  kept = near;
  back = -2662000 * near - 2662001;
  seen = back;
  return 3736000 * back >= near;
}

int main (void)
{
  printf ("%d\n", crosses (far));
  return 0;
}
