extern int printf(const char *, ...);
char a = 9;
int b, c = 9, d, e;
void fn1() {
    {
      int tl_0_0 = (((-4) >> e) + (~(a & c)));
      signed char tl_0_1 = ((d >> b) | (c >= tl_0_0));
      int tl_0_2 = (b >= a);
      if ((!(tl_0_2 == 0)) || ((tl_0_1 != d) || (((-((c & tl_0_2) > e)) >> (tl_0_1 & tl_0_0)) >= 0))) {
        tl_0_0 = e;
        tl_0_1 = a;
        tl_0_2 = b;
        e = (b > c);
        a = (((e || tl_0_0) < tl_0_2) + (-(c || d)));
        b = (((b < e) << c) & (tl_0_2 <= tl_0_0));
        while (d > e) {
          printf("%d\n", (int)a);
        }
      }
      e = tl_0_0;
      a = tl_0_1;
      b = tl_0_2;
    }
    unsigned f = 1;
    {
      unsigned int tl_1_0 = (e - (((~b) ^ (a != d)) >= c));
      int tl_1_1 = (((long long)(tl_1_0 % c)) == ((f << b) > e));
      if (a != 8) {
        tl_1_0 = f;
        tl_1_1 = c;
        f = ((tl_1_1 << b) + a);
        c = (e && 4194304U);
        while (e >= 76) {
          __builtin_abort();
        }
      }
      f = tl_1_0;
      c = tl_1_1;
    }
    int g = 8, h = 5;
    while (f > 19U) {
      return;
      while (g) {
        printf("%d\n", (int)a);
      }
    }
    for (; a != 6; a--) {
      {
        int tl_3_0 = (((-(!c)) >= (g | f)) || h);
        unsigned int tl_3_1 = (((_Bool)(-9223372036854775807L - 1)) << h);
        signed char tl_3_2 = (((!(c + (g == b))) ^ tl_3_1) || a);
        if ((!(d <= (-76))) || ((b == (-1)) && (g != 9))) {
          tl_3_0 = g;
          tl_3_1 = f;
          tl_3_2 = a;
          g = ((c ^ (h != e)) >= (64 <= d));
          f = ((((c > tl_3_1) << (1543327701U == tl_3_2)) - e) && ((_Bool)h));
          a = (e && (g && c));
          while (!(!(tl_3_0 == 94))) {
            printf("%d\n", (int)a);
          }
        }
        g = tl_3_0;
        f = tl_3_1;
        a = tl_3_2;
      }
      {
        if (c == 20) {
          c++;
          d = f;
          c += d;
        }
        int *i = &h;
        {
          signed char tl_5_0 = ((d % c) || b);
          if (a != 0) {
            tl_5_0 = a;
            a = (f && ((-(!(g - d))) / 6L));
            if (!((b < 1) && (h <= 5))) {
              printf("%d\n", (int)a);
            }
          }
          a = tl_5_0;
        }
        for (;;) {
          if (f != 2U) {
            {
            if ((b > 1) || (b != 1)) {
              if (d <= 8)
                {
                  {
                    int tl_8_0 = ((~e) > g);
                    if (h != f) {
                      tl_8_0 = e;
                      e = ((8674015766267157083L <= c) + g);
                      while (!((tl_8_0 <= f) || (d != b))) {
                        printf("%d\n", (int)e);
                      }
                    }
                    e = tl_8_0;
                  }
                  break;
            }
                }
            *i = 0;
            *i = 0;
        }
          }
        }
        {
          int tl_10_0 = (((c < b) & ((!d) && f)) + h);
          int tl_10_1 = (d || e);
          if (d < 64) {
            tl_10_0 = b;
            tl_10_1 = h;
            b = ((((unsigned long long)a) | ((-(b && tl_10_1)) <= 9223372036854775807L)) * (d <= g));
            h = (16 && d);
            if (tl_10_1 <= (-43)) {
              printf("%d\n", (int)b);
            }
          }
          b = tl_10_0;
          h = tl_10_1;
        }
        c = c + (f + g) * h;
    }
    }
}
int main() {
    if (a >= 9) {
      fn1();
    }
    if (((e == (-62)) && ((e & (a & (-b))) > (-97))) && ((c != 121) || (c > a))) {
      d = c;
      d &= ((long long)((unsigned int)d));
      a++;
    }
    printf("%d %d %d\n", a, c, e);
    if (d < a) {
      return 0;
    }
}
