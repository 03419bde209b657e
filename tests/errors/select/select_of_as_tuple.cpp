// expect: select() goes inside of as_tuple(): write leat::as_tuple(leat::select(operations...))
#include <chrono>

#include "leat/async/as_tuple.hpp"
#include "leat/async/select.hpp"

leat::task<> run() {
  const std::chrono::seconds limit(1);
  auto won = co_await leat::select(leat::as_tuple(leat::sleep_for(limit)), leat::sleep_for(limit));
  static_cast<void>(won);
}
