#include "kernels.h"
KERNEL void gs_gather(void) {
    int i;
    for (i = 0; i < N; i++)
        ia[i] = ib[ip[i]] + 1;
}
KERNEL void gs_scatter(void) {
    int i;
    for (i = 0; i < N; i++)
        ia[ip[i]] = ib[i] + ic[i];
}
KERNEL void gs_fgather(void) {
    int i;
    for (i = 0; i < N; i++)
        fa[i] = fa[i] + fb[ip[i]] * fs;
}
KERNEL void gs_update(void) {
    int i;
    for (i = 0; i < N; i++)
        ia[ip[i]] += ib[i];
}
KERNEL void gs_double(void) {
    int i;
    int k;
    for (i = 0; i < N; i++) {
        k = ip[i];
        ia[k] = ib[k] + i;
    }
}
int main(void) {
    init();
    gs_gather();
    gs_scatter();
    gs_fgather();
    gs_update();
    gs_double();
    check();
}
