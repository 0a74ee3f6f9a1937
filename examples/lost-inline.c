static int a;
static int *b = &a;
static int *func_2() {
  *b = 0;
  return b;
}
void func_1() { func_2(); }
int main() { func_1(); }
// Line 5 belongs to `func_2`, whose inlined range ends too early: the frame shown is that of its caller.
// expect: gcc-12 -O1,-O2,-O3,-Os native: self 5
