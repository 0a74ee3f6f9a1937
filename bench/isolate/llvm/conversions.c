/* llvm-project issue 129244: two conversions of different widths in one vector. */
int printf (const char *, ...);
void exit (int);
int sum, known;

int scale (int tens, unsigned long parts)
{
  double rest = -parts / 1000000.0;
  if (rest > 3)
    rest = 3;
  return tens * 10 + rest;
}

int pick (int *value)
{
  return 0 >= known ? 0 : value[0];
}

int measure (int value)
{
  int picked = pick (&value);
  return scale (67, picked + 2) - 673 + picked;
}

void check (int a, int b)
{
  if (a - b != 1)
    exit (3);
}

int main (void)
{
  int first = measure (9), second = measure (5);
  sum = first;
  check (5, second + 4);
  printf ("%d\n", sum);
  return 0;
}
