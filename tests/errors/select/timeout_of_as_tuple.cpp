// expect: a limit goes inside of as_tuple()
// expect: write leat::as_tuple(leat::with_timeout(operation, limit))
#include <chrono>

#include "leat/async/as_tuple.hpp"
#include "leat/async/select.hpp"

leat::task<int> work();
leat::task<> run() {
  auto [ec, result] = co_await leat::with_timeout(leat::as_tuple(work()), std::chrono::seconds(1));
  static_cast<void>(result);
}
