// expect: with_timeout(), with_deadline() and with_stop() need an operation, not a task: spawn the
// expect: task in a task_group and pass group.join()
#include <chrono>

#include "leat/async/select.hpp"

leat::task<int> work();
leat::task<> run() {
  int n = co_await leat::with_timeout(work(), std::chrono::seconds(1));
  static_cast<void>(n);
}
