// expect: select() needs operations, not tasks: spawn the task in a task_group and write
// expect: group.join()
#include <chrono>

#include "leat/async/select.hpp"

leat::task<int> work();
leat::task<> run() {
  auto first = co_await leat::select(work(), leat::sleep_for(std::chrono::seconds(1)));
  static_cast<void>(first);
}
