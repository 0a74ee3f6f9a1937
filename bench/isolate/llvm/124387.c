/* llvm-project 124387: a rotation keeps the range of its result although only the low bits of it are computed. */
int printf (const char *, ...);
int ready, shown;

int slide (int mode)
{
  int depth = 0;
  if (mode != 9)
    depth = (ready == 0) - 2;
  return 2 * depth + (depth < 0);
}

void show (signed char level)
{
  shown = level;
}

int main (void)
{
  show (slide (0));
  printf ("%d\n", shown);
  return 0;
}
