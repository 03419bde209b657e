// expect: as_tuple() takes ownership of the task: write std::move(task)
#include "leat/async/as_tuple.hpp"

leat::task<int> work();
leat::task<> run() {
  auto running = work();
  auto [ec, result] = co_await leat::as_tuple(running);
  static_cast<void>(result);
}
