int from[256], to[256];
__attribute__((noinline)) void add_one(void) {
  for (int i = 0; i < 256; i++)
    to[i] = from[i] + 1;
}
int main(void) {
  add_one();
  return to[255] - 1;
}
// gcc -O3 keeps an address instead of `i`: a debugger prints <optimized out> inside the loop.
// `trueline repair` says how `i` follows from that address.
