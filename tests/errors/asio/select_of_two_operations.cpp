// expect: select() accepts at most one operation that cannot be undone after it has started
// expect: join the tasks with when_any()
#include <asio/steady_timer.hpp>

#include "leat/async/loop/use_task.hpp"

leat::task<> wait(asio::steady_timer& a, asio::steady_timer& b) {
  co_await leat::select(a.async_wait(leat::use_task), b.async_wait(leat::use_task));
}
