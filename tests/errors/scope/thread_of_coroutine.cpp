// expect: start_thread() needs a plain function, because a coroutine would never run
// expect: spawn() the coroutine
// expect: leat::block_on(
#include <stop_token>

#include "leat/coordination/coordinator.hpp"

void run(leat::coordinator& coord) {
  coord.start_thread("worker", [](std::stop_token) -> leat::task<> { co_return; });
}
