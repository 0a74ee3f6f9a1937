// A loop that works on several elements at a time.
int from[64], into[64];
__attribute__((noinline)) int add(int n) {
  int scale = n;
  for (int i = 0; i < 64; i++) {
    int v = from[i] + scale;
    into[i] = v;
  }
  scale = into[n];
  return scale;
}
int main(void) {
  for (int i = 0; i < 64; i++)
    from[i] = i * 3;
  return add(2) & 1;
}
