struct point {
  int x;
  int y;
};
volatile int seen;
static void look(const struct point *at) {
  seen = at->x;
  seen = at->y;
}
int main(int argc, char **argv) {
  struct point corner = {argc, 2};
  look(&corner);
  return 0;
}
