union narrow { unsigned whole; };
long fold(int a, int b, union narrow u, signed char *p);
