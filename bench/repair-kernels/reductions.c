#include "kernels.h"
KERNEL int re_sum(void) {
    int i;
    int s = 0;
    for (i = 0; i < N; i++)
        s += ia[i];
    return s;
}
KERNEL float re_fsum(void) {
    int i;
    float s = 0.0f;
    for (i = 0; i < N; i++)
        s += fa[i];
    return s;
}
KERNEL int re_dot(void) {
    int i;
    int s = 0;
    for (i = 0; i < N; i++)
        s += ia[i] * ib[i];
    return s;
}
KERNEL int re_max(void) {
    int i;
    int m = ia[0];
    for (i = 1; i < N; i++) {
        if (ia[i] > m)
            m = ia[i];
    }
    return m;
}
KERNEL void re_global(void) {
    int i;
    isum = 0;
    for (i = 0; i < N; i++) {
        ia[i] = ib[i] + 1;
        isum += ib[i];
    }
}
KERNEL int re_where(void) {
    int i;
    int best = 0;
    for (i = 1; i < N; i++) {
        if (ic[i] > ic[best])
            best = i;
    }
    return best;
}
KERNEL void re_running(void) {
    int i;
    int s = 0;
    for (i = 0; i < N; i++) {
        s += ib[i];
        ia[i] = s;
    }
}
int main(void) {
    init();
    isum += re_sum();
    fsum += re_fsum();
    isum += re_dot();
    isum += re_max();
    re_global();
    isum += re_where();
    re_running();
    check();
}
