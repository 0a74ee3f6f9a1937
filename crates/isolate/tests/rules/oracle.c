// rule: constant - 1
// expect: int a = 4;
void abort(void);
int a = 5;
int main(void) {
  if (a != 5)
    abort();
  return 0;
}
