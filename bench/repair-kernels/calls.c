#include "kernels.h"
#include <math.h>
__attribute__((noinline)) static int twice(int x) {
    return x * 2 + 1;
}
static int clamp(int x) {
    int y = x;
    if (y > 9)
        y = 9;
    return y;
}
KERNEL void ca_kernel(int count, int add) {
    int i;
    for (i = 0; i < count; i++)
        ia[i] = ib[i] + add;
}
KERNEL void ca_pointers(int *to, const int *from, int count) {
    int i;
    for (i = 0; i < count; i++)
        to[i] = from[i] * 3;
}
KERNEL void ca_call(void) {
    int i;
    for (i = 0; i < N; i++)
        ia[i] = twice(ib[i]);
}
KERNEL void ca_inlined(void) {
    int i;
    for (i = 0; i < N; i++)
        ia[i] = clamp(ib[i]) + ic[i];
}
KERNEL void ca_sqrt(void) {
    int i;
    for (i = 0; i < N; i++)
        fa[i] = sqrtf(fc[i]) + fb[i];
}
KERNEL float ca_scaled(float a, int count) {
    int i;
    float s = 0.0f;
    for (i = 0; i < count; i++) {
        fa[i] = a * fb[i];
        s = s + fa[i];
    }
    return s;
}
int main(void) {
    init();
    ca_kernel(n, iw);
    ca_pointers(ia, ib, n);
    ca_call();
    ca_inlined();
    ca_sqrt();
    fsum += ca_scaled(fs, n);
    check();
}
