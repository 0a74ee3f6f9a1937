int *place;
static int pick(int side, int value) {
  int *where = place;
  int kept = value + 1;
  if (side)
    *where = kept * 3;
  else
    *where = kept * 5;
  return kept;
}
int main(int argc, char **argv) {
  return pick(argc > 1, argc);
}
