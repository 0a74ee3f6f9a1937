// rule: constant + 1
// expect: unsigned long g = 0x10UL;
// expect: int f(void) { return 8; }
unsigned long g = 0xfUL;
int f(void) { return 7; }
