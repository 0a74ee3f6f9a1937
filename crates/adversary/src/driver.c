/* Calls the hostile functions: one round per argument, `function,k,d,seed,position,value`. Built without debug information. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

DECLARATIONS

static long number(char **at) {
  long value = strtol(*at, at, 0);
  if (**at == ',')
    ++*at;
  return value;
}

int main(int argc, char **argv) {
  unsigned long sum = 5381;
  for (int a = 1; a < argc; a++) {
    char *at = argv[a];
    int f = (int)number(&at), k = (int)number(&at), d = (int)number(&at);
    unsigned seed = (unsigned)number(&at);
    long position = number(&at), value = number(&at);
    for (int i = 0; i < 64; i++) {
      seed = seed * 1103515245u + 12345u;
      data[i] = (int)(seed >> 16) % 41 - 20;
      bytes[i] = (unsigned char)(seed >> 24);
      out[i] = 0;
      if (i < 16) {
        longs[i] = (int)(seed >> 8) % 1000;
        reals[i] = (double)((int)(seed >> 16) % 64) / 8.0;
      }
    }
    if (position >= 0)
      data[position & 63] = (int)value;
    memset(text, 0, sizeof text);
    snprintf(text, sizeof text, "%d", k);
    round_no = a;
    answer = 0;
    answer = call(f, k, d);
    for (int i = 0; i < 64; i++)
      sum = sum * 33 ^ (unsigned)out[i] ^ bytes[i] ^ (unsigned)data[i] ^ (unsigned long)longs[i & 15];
    sum = sum * 33 ^ (unsigned)answer;
  }
  printf("%lx\n", sum);
  return 0;
}
