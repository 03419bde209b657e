// expect: select() accepts at most one operation that cannot be undone after it has started
#include "leat/async/blocking/run_blocking.hpp"
#include "leat/async/select.hpp"

leat::task<int> work();
int block();
leat::task<> run() {
  auto first = co_await leat::select(work(), leat::run_blocking(block));
  static_cast<void>(first);
}
