// rule: remove const
// expect: static  int g = 3;
static const int g = 3;
int f(void) { return g; }
