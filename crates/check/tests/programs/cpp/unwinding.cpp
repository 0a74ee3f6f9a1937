#include <cstdio>
struct Guard {
  const char *name;
  explicit Guard(const char *n) : name(n) {}
  ~Guard() { std::printf("leave %s\n", name); }
};
[[gnu::noinline]] static int deepest(int n) {
  Guard guard("deepest");
  if (n > 2)
    throw n;
  return n * 2;
}
[[gnu::noinline]] static int middle(int n) {
  Guard guard("middle");
  int got = deepest(n);
  return got + 1;
}
int main(int argc, char **) {
  int caught = 0, sum = 0;
  for (int i = 0; i < 5; i++) {
    try {
      int got = middle(i + argc);
      sum += got;
    } catch (int thrown) {
      caught += thrown;
    }
  }
  std::printf("%d %d\n", caught, sum);
  return 0;
}
