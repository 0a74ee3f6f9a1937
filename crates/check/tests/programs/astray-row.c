int g;
static int other(int a)
{
  g += a;
  return g;
}
static int mine(int a)
{
  g++;
#ifdef ROW
  __asm__ volatile(".loc 1 " ROW "\n\tnop");
#endif
  g += 2;
  return a;
}
int main(void)
{
  int r = mine(3);
  r += other(r);
  return r == 100;
}
