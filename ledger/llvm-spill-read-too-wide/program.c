volatile unsigned input = 12;
volatile unsigned output;
int main(void) {
  unsigned before = input + 1;
  unsigned size = input;
  unsigned after = input + 3;
  unsigned half = size >> 1;
  __asm__ volatile("" : : : "rax", "rbx", "rcx", "rdx", "rsi", "rdi", "rbp", "r8",
                   "r9", "r10", "r11", "r12", "r13", "r14", "r15");
  output = size;
  output = before;
  output = after;
  return 0;
}
