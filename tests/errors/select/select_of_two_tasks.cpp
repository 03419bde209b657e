// expect: select() accepts at most one operation that cannot be undone after it has started
// expect: join the tasks with when_any(), which returns both results
#include "leat/async/select.hpp"

leat::task<int> work();
leat::task<> run() {
  auto first = co_await leat::select(work(), work());
  static_cast<void>(first);
}
