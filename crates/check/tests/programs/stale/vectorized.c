// The vectorizer drops what describes the sum: behind the loop it shows what it was before.
// expect: clang-16 -O2,-O3 native: stale 11 last
int from[64], into[64];
__attribute__((noinline)) int add(int n) {
  int last = 0;
  for (int i = 0; i < 64; i++) {
    int v = from[i] + n;
    into[i] = v;
    last += v;
  }
  return last;
}
int main(void) {
  for (int i = 0; i < 64; i++)
    from[i] = i * 3;
  return add(2) & 1;
}
