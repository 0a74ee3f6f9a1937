#ifndef TRUELINE_ERRNO_H
#define TRUELINE_ERRNO_H
extern int *__errno_location(void);
#define errno (*__errno_location())
#define EDOM 33
#define ERANGE 34
#define EINVAL 22
#define ENOMEM 12
#endif
