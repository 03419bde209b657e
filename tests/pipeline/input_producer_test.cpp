#include "leat/pipeline/input_producer.hpp"

#include <algorithm>
#include <map>

#include "support/leat_test.hpp"

namespace {

using leat::task;
using names = std::vector<std::string>;

task<names> all_of(leat::string_input_producer& p) {
  leat::coordinator coord;
  p.start(coord);
  names out;
  for (;;) {
    auto item = co_await p.queue().pop();
    if (!item) break;
    out.push_back(std::move(*item));
  }
  co_await coord.join();
  co_return out;
}

}  // namespace

LEAT_TEST("string_input_producer: without shuffling each epoch is the list", "[pipeline]") {
  leat::string_input_producer p({"a", "b", "c"},
                                {.num_epochs = 2, .shuffle = false, .capacity = 1});
  const names out = co_await all_of(p);
  CHECK(out == names{"a", "b", "c", "a", "b", "c"});
}

LEAT_TEST("string_input_producer: each epoch holds every item once", "[pipeline]") {
  leat::string_input_producer p({"a", "b", "c", "d"}, {.num_epochs = 50, .seed = 3});
  const names out = co_await all_of(p);
  REQUIRE(out.size() == 200);
  for (std::size_t e = 0; e < 50; ++e) {
    names epoch(out.begin() + static_cast<long>(4 * e), out.begin() + static_cast<long>(4 * e + 4));
    std::sort(epoch.begin(), epoch.end());
    REQUIRE(epoch == names{"a", "b", "c", "d"});
  }
}

LEAT_TEST("string_input_producer: all orders are equally likely", "[pipeline]") {
  leat::string_input_producer p({"a", "b", "c"}, {.num_epochs = 600, .seed = 12});
  const names out = co_await all_of(p);
  std::map<std::string, int> orders;
  for (std::size_t i = 0; i < out.size(); i += 3) ++orders[out[i] + out[i + 1] + out[i + 2]];
  CHECK(orders.size() == 6);
  for (const auto& [order, count] : orders) {
    CHECK(count > 60);
    CHECK(count < 140);
  }
}

LEAT_TEST("string_input_producer: a seed decides the orders", "[pipeline]") {
  leat::string_input_producer a({"a", "b", "c", "d", "e"}, {.num_epochs = 3, .seed = 5});
  leat::string_input_producer b({"a", "b", "c", "d", "e"}, {.num_epochs = 3, .seed = 5});
  const names first = co_await all_of(a);
  const names second = co_await all_of(b);
  CHECK(first == second);
}

TEST_CASE("string_input_producer: what makes no sense is refused", "[pipeline]") {
  CHECK_THROWS_AS(leat::string_input_producer(names{}), leat::failure);
  CHECK_THROWS_AS(leat::string_input_producer({"a"}, {.num_epochs = 0}), leat::failure);
  CHECK_THROWS_AS(leat::string_input_producer({"a"}, {.capacity = 0}), leat::failure);
}
