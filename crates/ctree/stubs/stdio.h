#ifndef TRUELINE_STDIO_H
#define TRUELINE_STDIO_H
#include <stddef.h>
#include <stdarg.h>
typedef struct _IO_FILE FILE;
extern FILE *stdin;
extern FILE *stdout;
extern FILE *stderr;
#define EOF (-1)
extern int printf(const char *, ...);
extern int fprintf(FILE *, const char *, ...);
extern int sprintf(char *, const char *, ...);
extern int snprintf(char *, unsigned long, const char *, ...);
extern int vprintf(const char *, __builtin_va_list);
extern int vfprintf(FILE *, const char *, __builtin_va_list);
extern int vsprintf(char *, const char *, __builtin_va_list);
extern int puts(const char *);
extern int putchar(int);
extern int putc(int, FILE *);
extern int fputc(int, FILE *);
extern int fputs(const char *, FILE *);
extern int fflush(FILE *);
extern int getchar(void);
extern int getc(FILE *);
extern int fgetc(FILE *);
extern char *fgets(char *, int, FILE *);
extern int scanf(const char *, ...);
extern int fscanf(FILE *, const char *, ...);
extern int sscanf(const char *, const char *, ...);
extern FILE *fopen(const char *, const char *);
extern int fclose(FILE *);
extern unsigned long fread(void *, unsigned long, unsigned long, FILE *);
extern unsigned long fwrite(const void *, unsigned long, unsigned long, FILE *);
extern void perror(const char *);
extern void setbuf(FILE *, char *);
#endif
