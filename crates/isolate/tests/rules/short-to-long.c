// rule: short to long
// expect: unsigned long a;
unsigned short a;
unsigned char b;
