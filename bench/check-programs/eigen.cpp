/* Solves a system and iterates a matrix with Eigen. */
#include <Eigen/Dense>
#include <iostream>
using Eigen::Matrix3d;
using Eigen::Vector3d;
static double residual(const Matrix3d& a, const Vector3d& x, const Vector3d& b) {
    Vector3d r = a * x - b;
    double worst = 0;
    for (int i = 0; i < 3; ++i) {
        double e = r(i) < 0 ? -r(i) : r(i);
        if (e > worst) worst = e;
    }
    return worst;
}
static Vector3d power(const Matrix3d& a, int steps) {
    Vector3d v(1, 1, 1);
    for (int k = 0; k < steps; ++k) {
        Vector3d w = a * v;
        double n = w.norm();
        v = w / n;
    }
    return v;
}
int main(int argc, char**) {
    Matrix3d a;
    a << 4, 1, 0, 1, 3, argc, 0, 1, 2;
    Vector3d b(1, 2, 3);
    Vector3d x = a.partialPivLu().solve(b);
    double res = residual(a, x, b);
    Vector3d v = power(a, 6);
    int good = res < 1e-9;
    std::cout << good << " " << v(0) << " " << v.sum() << "\n";
    return 0;
}
