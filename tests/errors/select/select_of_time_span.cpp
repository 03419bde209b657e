// expect: select() needs a task or operations of leat, such as queue.pop() or group.join(): write
// expect: leat::sleep_for(limit) for a time limit
#include <chrono>

#include "leat/async/select.hpp"

leat::task<> run(leat::task_group& group) {
  auto first = co_await leat::select(group.join(), std::chrono::seconds(1));
  static_cast<void>(first);
}
