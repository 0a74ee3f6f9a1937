int g_4 = 3, a;
int *b() {
  if (g_4)
    return &g_4;
  a = 0;
  return &g_4;
}
int main() { b(); }
// GCC PR95865, snippet 11 of Di Luna et al.: lines 4 and 6 become one instruction, and the line table keeps 6.
// expect: gcc-12 -Og,-O1,-O2,-O3 gdb,native: line 6
// expect: clang-16 -Og,-O1,-O2,-O3 native: clean
