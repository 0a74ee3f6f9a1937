// Threads with a mutex, a condition variable and a future.
#include <condition_variable>
#include <cstdio>
#include <future>
#include <mutex>
#include <thread>
static std::mutex lock;
static std::condition_variable ready;
static int stage;
static int work(int n) {
  int product = 1;
  for (int i = 1; i <= n; i++)
    product *= i;
  return product;
}
int main() {
  std::future<int> answer = std::async(std::launch::async, work, 5);
  std::thread other([] {
    std::lock_guard<std::mutex> hold(lock);
    stage = 1;
    ready.notify_one();
  });
  {
    std::unique_lock<std::mutex> hold(lock);
    ready.wait(hold, [] { return stage == 1; });
  }
  other.join();
  int value = answer.get();
  std::printf("%d %d\n", value, stage);
  return 0;
}
