// rule: insert restrict
// expect: void f(int *restrict p, int a) { *p = a; }
void f(int *p, int a) { *p = a; }
