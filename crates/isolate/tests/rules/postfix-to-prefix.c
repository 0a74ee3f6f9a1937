// rule: x++ to --x
// expect: int f(int a) { return --a ; }
int f(int a) { return a++; }
