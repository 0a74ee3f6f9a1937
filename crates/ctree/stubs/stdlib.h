#ifndef TRUELINE_STDLIB_H
#define TRUELINE_STDLIB_H
#include <stddef.h>
#define EXIT_SUCCESS 0
#define EXIT_FAILURE 1
#define RAND_MAX 2147483647
extern void abort(void) __attribute__((__noreturn__));
extern void exit(int) __attribute__((__noreturn__));
extern void _Exit(int) __attribute__((__noreturn__));
extern int atexit(void (*)(void));
extern void *malloc(unsigned long);
extern void *calloc(unsigned long, unsigned long);
extern void *realloc(void *, unsigned long);
extern void free(void *);
extern int abs(int);
extern long labs(long);
extern int atoi(const char *);
extern long atol(const char *);
extern double atof(const char *);
extern long strtol(const char *, char **, int);
extern unsigned long strtoul(const char *, char **, int);
extern int rand(void);
extern void srand(unsigned int);
extern char *getenv(const char *);
extern void qsort(void *, unsigned long, unsigned long, int (*)(const void *, const void *));
#endif
