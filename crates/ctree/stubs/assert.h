#undef assert
extern void __assert_fail(const char *, const char *, unsigned int, const char *) __attribute__((__noreturn__));
#ifdef NDEBUG
#define assert(e) ((void)0)
#else
#define assert(e) ((e) ? (void)0 : __assert_fail(#e, __FILE__, __LINE__, __func__))
#endif
