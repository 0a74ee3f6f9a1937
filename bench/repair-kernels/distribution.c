#include "kernels.h"
KERNEL void di_two(void) {
    int i;
    for (i = 0; i < N; i++) {
        ia[i] = ib[i] + ic[i];
        id[i] = ia[i] * 2;
    }
}
KERNEL void di_mixed(void) {
    int i;
    for (i = 1; i < N; i++) {
        fa[i] = fa[i] + fb[i] * fc[i];
        fd[i] = fd[i - 1] + fa[i];
    }
}
KERNEL void di_three(void) {
    int i;
    for (i = 0; i < N; i++) {
        ia[i] = ib[i] + iv;
        ic[i] = ia[i] - 1;
        id[i] = ic[i] + ia[i];
    }
}
KERNEL void di_interchange(void) {
    int i;
    int j;
    for (i = 0; i < M; i++)
        for (j = 0; j < M; j++)
            mf[j][i] = mf[j][i] + mg[j][i];
}
KERNEL void di_interchange_dep(void) {
    int i;
    int j;
    for (j = 0; j < M; j++)
        for (i = 1; i < M; i++)
            ma[i][j] = ma[i - 1][j] + mb[i][j];
}
KERNEL void di_row(void) {
    int i;
    int j;
    for (i = 1; i < M; i++)
        for (j = 0; j < M; j++)
            mf[i][j] = mf[i - 1][j] + mg[i][j];
}
int main(void) {
    init();
    di_two();
    di_mixed();
    di_three();
    di_interchange();
    di_interchange_dep();
    di_row();
    check();
}
