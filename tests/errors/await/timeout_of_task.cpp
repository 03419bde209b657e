// expect: a limit takes an operation, not a task: spawn the task in a task_group and write
// expect: with_timeout(group.join(), limit)
#include <chrono>

#include "leat/async/select.hpp"

leat::task<int> work();
leat::task<> run() {
  int n = co_await leat::with_timeout(work(), std::chrono::seconds(1));
  static_cast<void>(n);
}
