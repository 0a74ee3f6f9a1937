int g_4 = 3, a;
int *b() {
  if (g_4)
    return &g_4;
  a = 0;
  return &g_4;
}
int main() { b(); }
