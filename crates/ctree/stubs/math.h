#ifndef TRUELINE_MATH_H
#define TRUELINE_MATH_H
extern double fabs(double);
extern float fabsf(float);
extern double floor(double);
extern double ceil(double);
extern double sqrt(double);
extern double pow(double, double);
extern double sin(double);
extern double cos(double);
extern double exp(double);
extern double log(double);
extern double fmod(double, double);
extern double ldexp(double, int);
extern double frexp(double, int *);
#define HUGE_VAL __builtin_huge_val()
#define INFINITY __builtin_inff()
#define NAN __builtin_nanf("")
#define isnan(x) __builtin_isnan(x)
#define isinf(x) __builtin_isinf(x)
#define isfinite(x) __builtin_isfinite(x)
#endif
