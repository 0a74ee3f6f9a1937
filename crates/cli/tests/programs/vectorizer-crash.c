// gcc 12.2 crashes in its vectorizer at -O3 (GCC PR109219). There is no main: a compiler's crash needs none.
int rounds, lit, tone, gain, depth, paint;

void shade(int *restrict pixel) {
  for (; rounds; rounds++)
    for (char side = 0; side < 4; side++) {
      int on = tone > 1 || lit ? 1 : tone;
      long light = (long)on * gain;
      unsigned short dark = -light;
      int blend = (dark ^ 65535UL) - depth;
      *pixel ^= (short)(blend ^ paint);
    }
}
