union narrow { unsigned whole; };
long g[4];
static __attribute__((noinline)) long fold(int a, int b, union narrow u, signed char *p) {
  long kept[3];
  int i;
  for (i = 0; i < 3; i++)
    kept[i] = -4;
  return kept[1];
}
signed char byte;
int main(void) {
  union narrow u = {77};
  g[0] = fold(1, 28, u, &byte);
  g[1] = g[0] == 0;
  return 0;
}
// gcc keeps saying that `u` is in the register that the loop counts in.
// expect: gcc-12 -Og native,gdb: parameter 7 u; parameter 8 u
