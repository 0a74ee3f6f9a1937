// An address that a call is given is hoisted out of both loops, under the line of the call. The assignment `j = 0`
// left no code; gcc has a row for it where the loop begins, after the hoisted instructions.
#include <stdio.h>

volatile int flag;
int verbose;
unsigned sum;
long kept[6][1] = {{1}, {2}, {3}, {4}, {5}, {6}};

__attribute__((noinline)) static void add(long value) { sum = sum * 31 + (unsigned)value; }

static void note(long value, const char *name, int say)
{
  add(value);
  if (say)
    printf("checksum after hashing %s : %X\n", name, sum ^ 0xffffffffu);
}

int main(void)
{
  int i, j;
  verbose = flag;
  int say = verbose;
  for (j = 0; j < 2; j++)
    note(j, "j", say);
  for (i = 0; i < 6; i++)
  {
    for (j = 0; j < 1; j++)
    {
      note(kept[i][j], "kept[i][j]", say);
      if (say) printf("index = [%d][%d]\n", i, j);
    }
  }
  printf("%u\n", sum);
  return 0;
}
