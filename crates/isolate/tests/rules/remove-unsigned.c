// rule: remove unsigned
// expect: int a;
// expect:  char b;
unsigned a;
unsigned char b;
