// expect: with_timeout(), with_deadline() and with_stop() take ownership of the operation: write
// expect: std::move(operation)
#include <chrono>

#include "leat/async/select.hpp"

leat::task<int> work();
leat::task<> run() {
  leat::task<int> t = work();
  int n = co_await leat::with_timeout(t, std::chrono::seconds(1));
  static_cast<void>(n);
}
