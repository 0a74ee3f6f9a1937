// Assignments that nobody reads, to a local and to a static variable.
static int unread;
int g;
__attribute__((noinline)) int waste(int a) {
  int v = a;
  unread = v;
  v = a + 1;
  g = v;
  unread = 7;
  v = a + 2;
  g += v;
  v = 9;
  return g;
}
int main(void) {
  return (waste(1) + waste(4)) & 1;
}
