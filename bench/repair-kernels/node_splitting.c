#include "kernels.h"
KERNEL void ns_ahead(void) {
    int i;
    for (i = 0; i < N - 1; i++) {
        fa[i] = fa[i] * fc[i];
        fb[i] = fb[i] + fa[i + 1] * fd[i];
    }
}
KERNEL void ns_both(void) {
    int i;
    for (i = 0; i < N - 1; i++) {
        ia[i] = ib[i] + ic[i];
        ib[i] = ia[i + 1] * 2;
    }
}
KERNEL void ns_temp(void) {
    int i;
    int t;
    for (i = 1; i < N - 1; i++) {
        t = ia[i + 1];
        ia[i] = t + ib[i];
    }
}
KERNEL void ns_cycle(void) {
    int i;
    for (i = 1; i < N - 1; i++) {
        ib[i] = ia[i - 1] + ic[i];
        ia[i] = ia[i + 1] + id[i];
    }
}
KERNEL void ns_float(void) {
    for (int i = 0; i < N - 1; i++) {
        float t = fa[i + 1];
        fb[i] = t + fc[i];
        fa[i] = fd[i];
    }
}
int main(void) {
    init();
    ns_ahead();
    ns_both();
    ns_temp();
    ns_cycle();
    ns_float();
    check();
}
