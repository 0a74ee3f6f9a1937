/* The harness of the loop kernels: global arrays, an initialiser and a checksum. Each file of this folder
   is one program; its kernels are kept out of line so that each is a function of its own. */
#include <stdio.h>
#define N 512
#define M 32
#define KERNEL __attribute__((noinline, noclone)) static
int ia[N], ib[N], ic[N], id[N], ip[N];
float fa[N], fb[N], fc[N], fd[N], fe[N];
double da[N], db[N];
int ma[M][M], mb[M][M];
float mf[M][M], mg[M][M], mh[M][M];
int iv, iw, isum;
float fs, ft, fsum;
int n = N, half = N / 2, step = 3;

static void init(void) {
    for (int k = 0; k < N; k++) {
        ia[k] = k * 7 % 31;
        ib[k] = k * 5 % 23 - 7;
        ic[k] = k * 3 % 19 + 1;
        id[k] = k % 11;
        ip[k] = (k * 37 + 11) % N;
        fa[k] = (float)(k % 13) * 0.5f;
        fb[k] = (float)(k % 7) - 2.5f;
        fc[k] = (float)(k % 5) + 0.25f;
        fd[k] = (float)(k % 17) * 0.125f;
        fe[k] = 1.0f;
        da[k] = k % 9;
        db[k] = k % 4 + 0.5;
    }
    for (int k = 0; k < M; k++) {
        for (int l = 0; l < M; l++) {
            ma[k][l] = (k * 5 + l * 3) % 17;
            mb[k][l] = (k + l) % 7;
            mf[k][l] = (float)((k * 3 + l) % 11);
            mg[k][l] = (float)((k + l * 2) % 9) + 0.5f;
            mh[k][l] = 1.0f;
        }
    }
    iv = 5;
    iw = 3;
    fs = 1.5f;
    ft = 0.5f;
}

static void check(void) {
    double s = 0;
    for (int k = 0; k < N; k++) s += ia[k] + 2.0 * ib[k] + 3.0 * ic[k] + id[k] + fa[k] + fb[k] + 2.0 * fc[k] + fd[k] + fe[k] + da[k] + db[k];
    for (int k = 0; k < M; k++)
        for (int l = 0; l < M; l++) s += (ma[k][l] + mb[k][l]) * (k + 1) + mf[k][l] * 0.5 + mg[k][l] + mh[k][l] * (l + 1);
    printf("%.6g %d %g\n", s, isum, fsum);
}
