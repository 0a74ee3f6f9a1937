// A generator made of a coroutine.
#include <coroutine>
#include <cstdio>
struct Numbers {
  struct promise_type {
    int current = 0;
    Numbers get_return_object() { return Numbers{std::coroutine_handle<promise_type>::from_promise(*this)}; }
    std::suspend_always initial_suspend() noexcept { return {}; }
    std::suspend_always final_suspend() noexcept { return {}; }
    std::suspend_always yield_value(int value) {
      current = value;
      return {};
    }
    void return_void() {}
    void unhandled_exception() {}
  };
  std::coroutine_handle<promise_type> handle;
  ~Numbers() { handle.destroy(); }
  bool next() {
    handle.resume();
    return !handle.done();
  }
};
static Numbers squares(int limit) {
  for (int i = 1; i <= limit; i++) {
    int square = i * i;
    co_yield square;
  }
}
int main() {
  Numbers numbers = squares(4);
  int sum = 0;
  while (numbers.next())
    sum += numbers.handle.promise().current;
  std::printf("%d\n", sum);
  return 0;
}
