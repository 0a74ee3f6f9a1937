__attribute__((noinline, noclone)) int last(int x) { return x ^ 5; }
__attribute__((noinline, noclone)) int first(int x) { return last(x + 1); }
__attribute__((noinline, noclone)) int second(int x) { return last(x + 2); }
__attribute__((noinline, noclone)) int third(int x) { return last(x + 3); }
int main(int n, char **v) { int a = first(n), b = second(n); return a + b + third(n); }
