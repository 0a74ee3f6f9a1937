static unsigned total;
int shift;
int limit;
static unsigned table[4] = {5, 6, 7, 8};
static int look(int row) {
  int key = ((total ^ 63) * 63) & 15;
  if (limit)
    return row <= shift ? 0 : 25;
  table[0] = row <= 0;
  return row <= shift ? 0 : 25;
}
int main(void) {
  total = total * 31 + table[limit];
  int found = look(table[limit]);
  total = 0;
  return found & 0;
}
