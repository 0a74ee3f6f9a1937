// rule: another variable
// expect: int f(int b) { return b + b; }
// expect: int f(int b) { return a + a; }
int a;
int *p;
int f(int b) { return a + b; }
