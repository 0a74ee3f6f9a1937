#include "kernels.h"
KERNEL void td_add(void) {
    int i;
    int j;
    for (i = 0; i < M; i++)
        for (j = 0; j < M; j++)
            ma[i][j] = mb[i][j] + iv;
}
KERNEL void td_triangle(void) {
    int i;
    int j;
    for (i = 0; i < M; i++)
        for (j = 0; j < i; j++)
            ma[i][j] = mb[j][i] + 1;
}
KERNEL void td_diagonal(void) {
    int i;
    for (i = 0; i < M; i++)
        ma[i][i] = mb[i][i] * 2;
}
KERNEL void td_row_sum(void) {
    int i;
    int j;
    for (i = 0; i < M; i++) {
        ia[i] = 0;
        for (j = 0; j < M; j++)
            ia[i] += ma[i][j];
    }
}
KERNEL void td_stencil(void) {
    int i;
    int j;
    for (i = 1; i < M; i++)
        for (j = 1; j < M; j++)
            mf[i][j] = mf[i - 1][j] + mf[i][j - 1];
}
KERNEL void td_float(void) {
    for (int i = 0; i < M; i++)
        for (int j = 0; j < M; j++)
            mf[i][j] = mg[i][j] * ft + mh[i][j];
}
int main(void) {
    init();
    td_add();
    td_triangle();
    td_diagonal();
    td_row_sum();
    td_stencil();
    td_float();
    check();
}
