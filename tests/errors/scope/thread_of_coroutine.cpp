// expect: a thread runs a plain function, and this one is a coroutine
// expect: spawn() the coroutine
// expect: leat::sync_wait(
#include <stop_token>

#include "leat/coordination/coordinator.hpp"

void run(leat::coordinator& coord) {
  coord.start_thread("worker", [](std::stop_token) -> leat::task<> { co_return; });
}
