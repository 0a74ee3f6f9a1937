// Text of one function that runs in another: macros defined in a body, a call that is inlined at -O0, a
// statement expression, an array whose length is computed.
int g;
static inline __attribute__((always_inline)) int inner(int a) {
  int twice = a * 2;
  g += twice;
  return twice;
}
static int first(int a) {
#define STEP(x)  \
  do {           \
    g += (x);    \
    inner(x);    \
  } while (0)
  STEP(a);
  return a;
}
static int second(int n, int row[n + inner(1)])
{
  STEP(n);
  int kept[n];
  kept[0] = ({
    int t = inner(n);
    STEP(t);
    t + row[0];
  });
  return kept[0] + first(n);
}
int main(void)
{
  int row[8] = {4};
  return second(3, row) == g;
}
