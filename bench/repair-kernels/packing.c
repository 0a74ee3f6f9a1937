#include "kernels.h"
KERNEL void pk_positive(void) {
    int i;
    int j = -1;
    for (i = 0; i < N; i++) {
        if (ib[i] > 0) {
            j++;
            ia[j] = ib[i];
        }
    }
}
KERNEL void pk_unpack(void) {
    int i;
    int j = -1;
    for (i = 0; i < N; i++) {
        if (ib[i] > 0) {
            j++;
            ia[i] = ic[j];
        }
    }
}
KERNEL int pk_count(void) {
    int i;
    int k = 0;
    for (i = 0; i < N; i++) {
        if (ib[i] > 0)
            k++;
    }
    return k;
}
KERNEL void pk_two(void) {
    int i;
    int j = -1;
    for (i = 0; i < N / 2; i++) {
        j++;
        if (id[i] > 3)
            ia[j] = ib[i];
        else {
            j++;
            ia[j] = ic[i];
        }
    }
}
KERNEL void pk_even(void) {
    int j = 0;
    for (int i = 0; i < N; i += 2) {
        ia[j] = ib[i];
        j++;
    }
}
int main(void) {
    init();
    pk_positive();
    pk_unpack();
    isum += pk_count();
    pk_two();
    pk_even();
    check();
}
