// expect: select() accepts at most one operation that cannot be undone after it has started
#include <chrono>

#include "leat/async/select.hpp"

leat::task<int> work();
leat::task<> run() {
  const std::chrono::seconds limit(1);
  auto first = co_await leat::select(leat::with_timeout(work(), limit), work());
  static_cast<void>(first);
}
