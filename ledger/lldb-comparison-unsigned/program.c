volatile int seen;
__attribute__((noinline)) static int step(short level, int bias) {
  int low = (long)level + bias < -184L;
  seen = level;
  seen = bias;
  return level;
}
int main(void) {
  return step(5, 0) - 5;
}
