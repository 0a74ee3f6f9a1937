/* llvm-project issue 66484: a load made redundant across calls that write its place. */
int printf(const char *, ...);
int c, d, i, counter, level, turns, next, sum;
int *counting = &counter, *a;
char byte = -44, b;
int *reading = &level;
short shown;
char *writer = &byte;
unsigned add_bytes(char t, char u) { return t + u; }
int usual() {
  if (i & c)
    if (d)
      return 0;
  return 1;
}
int **through = &reading;
void rewrite();
void spin() {
  int **slot = &a;
  int turn = 0;
  for (; turns <= 3; turns++) {
    for (; *counting < 1;)
      ;
    for (; usual() + byte + *counting - 196 + turn; turn++) {
      for (; *counting < 3;)
        for (; *counting;)
          rewrite();
      for (; *counting - 299 + b; b++)
        for (; 19 + *counting + **through - 318; shown++)
          *slot = 0;
    }
  }
}
void rewrite() { *writer = next; }
int main() {
  counter = -20;
  unsigned char narrow = counter;
  sum = narrow + 3;
  counter = sum;
  next = 34339 + sum;
  *writer ^= next;
  for (; level <= 55; level = add_bytes(level, 5))
    ;
  spin();
  printf("%d\n", shown);
}
