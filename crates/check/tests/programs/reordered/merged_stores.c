// Stores next to one another that become one.
struct pack { char a, b, c, d; } packed;
__attribute__((noinline)) int pack(int n) {
  int v = n;
  packed.a = v;
  v = v + 1;
  packed.b = v;
  v = v + 1;
  packed.c = v;
  v = v + 1;
  packed.d = v;
  return v;
}
int main(void) {
  return (pack(1) + pack(5)) & 1;
}
