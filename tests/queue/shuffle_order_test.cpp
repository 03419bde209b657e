#include "leat/queue/detail/shuffle_order.hpp"

#include <set>

#include "support/leat_test.hpp"

using leat::detail::shuffle_order;

namespace shuffle_order_test {

int taken(shuffle_order<int>& pool) {
  int value = 0;
  pool.take(&value);
  return value;
}

TEST_CASE("shuffle_order: reserves the requested capacity") {
  shuffle_order<int> pool{leat::random_engine(1)};
  CHECK(pool.slots() == pool.size());
  pool.reserve(3);
  for (int i = 0; i < 3; ++i) {
    CHECK(pool.slots() > pool.size());
    pool.store(int{i});
  }
  CHECK(pool.slots() == pool.size());
  pool.reserve(3);  // there is room for three
  CHECK(pool.slots() == pool.size());
}

TEST_CASE("shuffle_order: doubles when it grows one by one") {
  shuffle_order<int> pool{leat::random_engine(1)};
  int growths = 0;
  for (std::size_t i = 0; i < 1000; ++i) {
    if (pool.slots() == pool.size()) {
      ++growths;
      pool.reserve(i + 1);
    }
    pool.store(1);
  }
  CHECK(growths <= 11);
}

TEST_CASE("shuffle_order: returns each item once, and returned items again") {
  shuffle_order<int> pool{leat::random_engine(1)};
  pool.reserve(4);
  for (int i = 0; i < 4; ++i) pool.store(int{i});
  const int first = taken(pool);
  pool.put_back(int{first});
  std::set<int> seen;
  for (int i = 0; i < 4; ++i) seen.insert(taken(pool));
  CHECK(seen == std::set<int>{0, 1, 2, 3});
}

TEST_CASE("shuffle_order: rejects an impossible reservation") {
  shuffle_order<int> pool{leat::random_engine(1)};
  CHECK_THROWS_AS(pool.reserve(SIZE_MAX), std::bad_alloc);
}

}  // namespace shuffle_order_test
