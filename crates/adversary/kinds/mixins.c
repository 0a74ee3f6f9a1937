@@ product
  unsigned m$Ma = (unsigned)k * $S7u;
  out[$I7] = (int)(m$Ma >> $S8);
@@ rare_parameter
  if (k == $R3)
    d = $S7;
  out[$I7] = d;
@@ narrow
  signed char m$Mc = (signed char)(k + $S7);
  out[$I7] = m$Mc;
@@ short_sum
  int m$Ms = 0;
  for (int m$Mi = 0;
       m$Mi < $N2;
       m$Mi++)
    m$Ms += data[m$Mi];
  out[$I7] = m$Ms;
@@ fill
  for (int m$Mi = 0;
       m$Mi < (d & 7);
       m$Mi++)
    bytes[m$Mi] = (unsigned char)(k + m$Mi);
@@ chosen
  int m$Mx = $E(k,d);
  if (d == $R3)
    m$Mx = $S7;
  out[$I7] = m$Mx;
@@ dead_end
  int m$Mx = $E(d,k);
  if (m$Mx == $R3)
    return m$Mx;
  out[$I7] = m$Mx & 31;
@@ nothing
@@ nothing_else
