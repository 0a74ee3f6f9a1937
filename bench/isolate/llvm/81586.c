/* llvm-project 81586: bytes of a vector are loaded as one number, and the vector's own load may move behind a store. */
int printf (const char *, ...);
typedef unsigned char bytes __attribute__ ((vector_size (16)));
bytes given = { 1, 2, 3, 4, 5, 6, 7, 8 };
bytes step = { 16, 16 };
bytes raised;

__attribute__ ((noinline)) unsigned take (bytes by)
{
  bytes all = given;
  unsigned low = all[0] | all[1] << 8 | all[2] << 16 | (unsigned) all[3] << 24;
  given = by;
  raised = by + all;
  return low;
}

int main (void)
{
  unsigned low = take (step);
  printf ("%x %x\n", low, raised[0]);
  return 0;
}
