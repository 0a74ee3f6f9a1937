#include "kernels.h"
KERNEL void iv_second(void) {
    int i;
    int j = -1;
    for (i = 0; i < N / 2; i++) {
        j++;
        ia[j] = ib[j] + ic[i];
    }
}
KERNEL void iv_scaled(void) {
    int i;
    int k = 0;
    for (i = 0; i < N / 4; i++) {
        ia[k] = ib[i] + 1;
        k += 4;
    }
}
KERNEL void iv_down_up(void) {
    int i;
    int j = N - 1;
    for (i = 0; i < N; i++) {
        ia[i] = ib[j];
        j--;
    }
}
KERNEL void iv_pointer(void) {
    int *p = ia;
    int *q = ib;
    int i;
    for (i = 0; i < N; i++) {
        *p = *q + i;
        p++;
        q++;
    }
}
KERNEL void iv_value(void) {
    int i;
    int s = 0;
    for (i = 0; i < N; i++) {
        s += 2;
        ia[i] = s * iv;
    }
}
KERNEL void iv_wrap(void) {
    int i;
    int last = N - 1;
    for (i = 0; i < N; i++) {
        fa[i] = fb[i] + fb[last];
        last = i;
    }
}
KERNEL void iv_step(void) {
    int i;
    for (i = 0; i < n; i += step)
        ia[i] = ic[i] + i;
}
int main(void) {
    init();
    iv_second();
    iv_scaled();
    iv_down_up();
    iv_pointer();
    iv_value();
    iv_wrap();
    iv_step();
    check();
}
