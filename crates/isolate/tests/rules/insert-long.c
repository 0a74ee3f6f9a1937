// rule: insert long
// expect: long int a;
// expect: long double d;
// expect: long long c;
int a;
char b;
long c;
double d;
