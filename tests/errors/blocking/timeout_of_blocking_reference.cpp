// expect: needs an operation without a reference result: return a pointer
#include "leat/async/blocking/run_blocking.hpp"
#include "leat/async/select.hpp"

int& block();
leat::task<> run() {
  using namespace std::chrono_literals;
  co_await leat::with_timeout(leat::run_blocking(block), 1s);
}
