#include "kernels.h"
KERNEL void ld_add(void) {
    int i = 0;
    for (; i < N; i++)
        ia[i] = ib[i] + iv;
}
KERNEL void ld_shift_back(void) {
    int i;
    for (i = 1; i < N; i++)
        ia[i] = ia[i - 1] + ib[i];
}
KERNEL void ld_shift_ahead(void) {
    int i;
    for (i = 0; i < N - 1; i++)
        fa[i] = fa[i + 1] + fb[i];
}
KERNEL void ld_far(void) {
    int i;
    for (i = 0; i < N / 2; i++)
        ia[i] = ia[i + N / 2] + ib[i];
}
KERNEL void ld_stride_two(void) {
    int i;
    for (i = 1; i < N; i += 2)
        fa[i] = fa[i - 1] + fb[i];
}
KERNEL void ld_reverse(void) {
    int i;
    for (i = N - 1; i >= 0; i--)
        ia[i] = ib[i] * 3;
}
KERNEL void ld_scale(void) {
    for (int i = 0; i < N; i++)
        fa[i] = fb[i] * fs + fc[i];
}
KERNEL void ld_product(void) {
    for (int i = 0; i < N; i++)
        da[i] = da[i] + db[i] * 2.0;
}
int main(void) {
    init();
    ld_add();
    ld_shift_back();
    ld_shift_ahead();
    ld_far();
    ld_stride_two();
    ld_reverse();
    ld_scale();
    ld_product();
    check();
}
