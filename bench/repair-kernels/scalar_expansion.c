#include "kernels.h"
KERNEL void se_swap(void) {
    int i;
    int t;
    for (i = 0; i < N; i++) {
        t = ia[i];
        ia[i] = ib[i];
        ib[i] = t;
    }
}
KERNEL void se_temp(void) {
    int i;
    float s;
    for (i = 0; i < N; i++) {
        s = fb[i] * fc[i];
        fa[i] = s + fd[i];
    }
}
KERNEL void se_carry(void) {
    int i;
    int t = 0;
    for (i = 0; i < N; i++) {
        ia[i] = ib[i] + t;
        t = ic[i];
    }
}
KERNEL void se_average(void) {
    int i;
    float x = fb[N - 1];
    for (i = 0; i < N; i++) {
        fa[i] = (fb[i] + x) * 0.5f;
        x = fb[i];
    }
}
KERNEL void se_cond(void) {
    int i;
    int t;
    for (i = 0; i < N; i++) {
        t = ib[i] > 0 ? ib[i] : 0;
        ia[i] = t + 1;
    }
}
KERNEL void se_pair(void) {
    for (int i = 0; i < N; i++) {
        int s = ia[i] + ib[i];
        int d = ia[i] - ib[i];
        ic[i] = s * 2;
        id[i] = d + s;
    }
}
int main(void) {
    init();
    se_swap();
    se_temp();
    se_carry();
    se_average();
    se_cond();
    se_pair();
    check();
}
