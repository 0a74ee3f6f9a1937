// rule: + to -
// expect: void f(int a) { g -= a; }
int g;
void f(int a) { g += a; }
