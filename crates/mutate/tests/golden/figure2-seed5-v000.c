extern int printf(const char *, ...);
char a = 9;
int b, c = 9, d, e;
void fn1() {
    {
      int tl_0_0 = ((c >= a) + ((-4) >> e));
      signed char tl_0_1 = (((e % c) - 65536UL) && (((!a) < (-tl_0_0)) | b));
      int tl_0_2 = d;
      if (!(!(tl_0_1 <= a))) {
        tl_0_0 = e;
        tl_0_1 = a;
        tl_0_2 = b;
        e = (((~tl_0_2) >> tl_0_0) >> d);
        a = ((tl_0_2 ^ (d | 9L)) ^ c);
        b = (e ^ (c >> tl_0_2));
        if (tl_0_1 == 10) {
          printf("%d\n", (int)a);
        }
      }
      e = tl_0_0;
      a = tl_0_1;
      b = tl_0_2;
    }
    unsigned f = 1;
    {
      unsigned int tl_1_0 = (((c ^ (!(~b))) ^ e) >> (a >> d));
      int tl_1_1 = ((~((tl_1_0 & c) << e)) * (-a));
      if (f <= 2U) {
        tl_1_0 = f;
        tl_1_1 = c;
        f = ((tl_1_1 % tl_1_0) + ((d | f) | c));
        c = a;
        if (c == b) {
          printf("%d\n", (int)c);
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
        int tl_3_0 = ((g | f) % (h ^ c));
        unsigned int tl_3_1 = c;
        signed char tl_3_2 = (8 - (g & b));
        if (c >= e) {
          tl_3_0 = g;
          tl_3_1 = f;
          tl_3_2 = a;
          g = ((c ^ (f * d)) / 1L);
          f = (((!g) & 0U) & tl_3_0);
          a = (g || 14U);
          if ((g <= tl_3_1) || ((b < b) || (a >= 2))) {
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
          signed char tl_5_0 = ((d % c) & b);
          if (g < c) {
            tl_5_0 = a;
            a = (g | (e << d));
            if (((-a) * 5UL) < g) {
              printf("%d\n", (int)a);
            }
          }
          a = tl_5_0;
        }
        for (;;) {
          if (f != 2U) {
            {
            if (((b >= ((c % (g | 128)) * e)) == d) || (d != 1)) {
              if (d <= 8)
                {
                  {
                    int tl_8_0 = ((~e) ^ g);
                    if (!(!(c != b))) {
                      tl_8_0 = e;
                      e = (e / 8192);
                      if (!(b != 53)) {
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
          int tl_10_0 = (h + ((!d) * ((c < b) % f)));
          int tl_10_1 = ((!(tl_10_0 + h)) | (c - (f / 7)));
          if ((a >= (-43)) || (a == 10)) {
            tl_10_0 = b;
            tl_10_1 = h;
            b = (h || d);
            h = (67108864 | (a * tl_10_1));
            while ((h <= 67108953) && (g == (-13))) {
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
    if (((e == (-62)) && ((e | (~(a & (-b)))) > (-2))) && ((a == a) && (b >= b))) {
      a ^= a;
    }
    printf("%d %d %d\n", a, c, e);
    if (d < a) {
      return 0;
    }
}
