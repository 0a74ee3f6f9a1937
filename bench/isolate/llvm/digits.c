/* llvm-project issue 62515: strength reduction of a loop whose count feeds a division. */
int printf (const char *, ...);
long dividend;
static int start, digits, steps;
char result;

int count_steps (int limit)
{
  int step = 0;
  while (step < 4 && 5 << step < limit)
    step++;
  return step;
}

int count_digits (int value)
{
  int count = 0;
  if (value < 0)
    count++;
  do
    {
      count++;
      value /= 10;
    }
  while (value);
  return count;
}

long divide (long by)
{
  return by == 0 ? 0 : dividend / by;
}

void use (int value)
{
  digits = count_digits (value - 54);
  result = divide (digits - 3);
}

int main (void)
{
  int *keep[] = { &start, &start };
  steps = count_steps (start - 40);
  use (-steps);
  printf ("%d\n", result);
  return 0;
}
