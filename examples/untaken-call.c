int flag = 0;
int table[16];
unsigned sum = 1;
static unsigned tail(int n, unsigned acc) {
  if (n <= 0) {
    return acc;
  }
  table[n] = acc;
  return tail(n - 1, (sum - n) & 63);
}
int main(void) {
  sum = tail(flag, 5);
  return 0;
}
// The recursive call becomes a loop; what is computed before that loop, and so in every call, carries the line of the call.
// expect: clang-16 -Og,-O1 gdb,lldb,native: line 9
// expect: clang-16 -O2,-O3,-Os native: clean
