int ready = 3, fallback;
int *find() {
  if (ready)
    return &ready;
  fallback = 0;
  return &ready;
}
int main() { find(); }
