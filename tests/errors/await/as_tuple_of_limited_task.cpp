// expect: as_tuple() needs a default-constructible result
#include <chrono>

#include "leat/async/as_tuple.hpp"
#include "leat/async/select.hpp"

struct answer {
  explicit answer(int value);
};
leat::task<answer> work();
leat::task<> run() {
  auto [ec, result] = co_await leat::as_tuple(leat::with_timeout(work(), std::chrono::seconds(1)));
  static_cast<void>(result);
}
