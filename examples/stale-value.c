__attribute__((noinline)) void foo(int *p) { *p = 1; }
int main(void) {
  int a = 0;
  foo(&a);
  return 0;
}
