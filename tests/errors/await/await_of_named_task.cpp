// expect: co_await consumes a task: write co_await std::move(task)
#include "leat/async/task.hpp"

leat::task<int> work();
leat::task<> run() {
  auto running = work();
  int result = co_await running;
  static_cast<void>(result);
}
