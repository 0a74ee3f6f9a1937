// rule: < to >=
// expect: int f(int a) { return a >= 3 && a <= 9; }
int f(int a) { return a < 3 && a <= 9; }
