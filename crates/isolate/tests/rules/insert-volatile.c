// rule: insert volatile
// expect: volatile static int g, h;
// expect: int f(volatile unsigned a) { return g + h + a; }
static int g, h;
int f(unsigned a) { return g + h + a; }
