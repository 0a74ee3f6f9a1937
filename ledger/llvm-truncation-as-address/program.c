volatile unsigned output;
unsigned counts[256];
unsigned char text[] = "trueline";
__attribute__((noinline)) static unsigned count(unsigned char *at) {
  unsigned char letter = *at;
  output = 1;
  if (counts[letter] == 0)
    output = 2;
  counts[letter] = letter + 1;
  return letter * 3;
}
int main(int argc, char **argv) {
  output = count(text + argc);
  return 0;
}
