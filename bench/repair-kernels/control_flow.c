#include "kernels.h"
KERNEL void cf_if(void) {
    int i;
    for (i = 0; i < N; i++)
        if (ib[i] > 0)
            ia[i] = ib[i] + ic[i];
}
KERNEL void cf_else(void) {
    int i;
    for (i = 0; i < N; i++) {
        if (ib[i] > 2)
            ia[i] = ib[i] * 2;
        else
            ia[i] = ic[i] - 1;
    }
}
KERNEL void cf_float(void) {
    int i;
    for (i = 0; i < N; i++) {
        if (fb[i] > 0.0f)
            fa[i] = fa[i] + fb[i] * fc[i];
    }
}
KERNEL void cf_invariant(void) {
    int i;
    for (i = 0; i < N; i++) {
        if (iv > 4)
            ia[i] = ib[i] + iv;
        else
            ia[i] = ib[i] - iv;
    }
}
KERNEL void cf_max(void) {
    int i;
    for (i = 0; i < N; i++) {
        if (ia[i] < ib[i])
            ia[i] = ib[i];
    }
}
KERNEL int cf_find(int key) {
    int i;
    for (i = 0; i < N; i++) {
        if (ic[i] == key)
            break;
    }
    return i;
}
KERNEL void cf_half(void) {
    int i;
    for (i = 0; i < N; i++) {
        if (i < N / 2)
            ia[i] = ib[i];
        else
            ia[i] = ic[i];
    }
}
int main(void) {
    init();
    cf_if();
    cf_else();
    cf_float();
    cf_invariant();
    cf_max();
    isum += cf_find(17);
    cf_half();
    check();
}
