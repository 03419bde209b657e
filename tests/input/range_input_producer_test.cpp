#include "leat/input/range_input_producer.hpp"

#include <algorithm>

#include "input/producing.hpp"

namespace range_input_producer_test {

using namespace producing;
using leat::range_input_producer;
using numbers = std::vector<std::int32_t>;

LEAT_TEST("range_input_producer: returns the numbers in order in each epoch") {
  range_input_producer p(5, {.num_epochs = 3, .shuffle = false});
  const numbers out = co_await all_of(p);
  CHECK(out == numbers{0, 1, 2, 3, 4, 0, 1, 2, 3, 4, 0, 1, 2, 3, 4});
}

LEAT_TEST("range_input_producer: both orders of two are equally likely") {
  range_input_producer p(2, {.num_epochs = 200, .seed = 5});
  const numbers out = co_await all_of(p);
  REQUIRE(out.size() == 400);
  check_orders(out, 2, 2, 61, 139);
}

LEAT_TEST("range_input_producer: orders are equal on every platform") {
  range_input_producer p(8, {.num_epochs = 3, .seed = 1});
  const numbers out = co_await all_of(p);
  CHECK(out == numbers{3, 7, 4, 6, 5, 2, 1, 0, 2, 4, 1, 7, 0, 6, 3, 5, 0, 6, 3, 7, 5, 4, 1, 2});
}

LEAT_TEST("range_input_producer: a range above the capacity is complete in each epoch") {
  for (const bool shuffle : {false, true}) {
    range_input_producer p(2500, {.num_epochs = 2, .shuffle = shuffle, .seed = 3, .capacity = 100});
    numbers out = co_await all_of(p);
    REQUIRE(out.size() == 5000);
    CHECK(std::is_sorted(out.begin(), out.begin() + 2500) != shuffle);
    for (const auto begin : {out.begin(), out.begin() + 2500}) {
      std::sort(begin, begin + 2500);
      for (std::int32_t i = 0; i < 2500; ++i) REQUIRE(begin[i] == i);
    }
  }
}

LEAT_TEST("range_input_producer: the largest range needs no memory in order") {
  range_input_producer p(std::int64_t{1} << 31, {.shuffle = false});
  leat::coordinator coord;
  p.start(coord);
  for (std::int32_t i = 0; i < 100; ++i) REQUIRE(*co_await p.queue().pop() == i);
  coord.request_stop();
  co_await coord.join();
}

TEST_CASE("range_input_producer: a limit is from 1 to 2^31") {
  for (const std::int64_t limit :
       {std::int64_t{0}, std::int64_t{-5}, (std::int64_t{1} << 31) + 1}) {
    const std::string said = refusal([&] { return range_input_producer(limit).queue().size(); });
    CHECK(contains(said, "limit is " + std::to_string(limit) + ", must be 1 to "));
  }
}

}  // namespace range_input_producer_test
