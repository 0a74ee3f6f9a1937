static int cell;
static int *slot = &cell;
static int *reset() {
  *slot = 0;
  return slot;
}
void prepare() { reset(); }
int main() { prepare(); }
