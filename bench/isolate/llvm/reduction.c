/* llvm-project issue 64047: a vectorized loop keeps a comparison that the loop around it changes. */
int printf (const char *, ...);
long zero, last;
long *limit = &zero;
char flag;
char *const changing = &flag;
int inner, outer, shown;

int main (void)
{
  long row[] = { 1, 4, 4, 1, 4, 4 };
  for (; outer >= -6; outer--)
    {
      inner = 0;
      for (; inner <= 5; inner++)
        last = row[inner] ^= *changing > *limit;
      *changing = 1;
    }
  for (; shown < 1; shown++)
    printf ("%d\n", (int) last);
  return 0;
}
