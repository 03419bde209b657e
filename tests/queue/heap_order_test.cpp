#include "leat/queue/detail/heap_order.hpp"

#include <algorithm>

#include "leat/base/random.hpp"
#include "leat/queue/detail/raw_storage.hpp"
#include "support/leat_test.hpp"

namespace heap_order_test {

struct item {
  int key = 0;
  int number = 0;
  std::unique_ptr<int> only_movable = std::make_unique<int>(0);
};
struct by_key {
  bool operator()(const item& a, const item& b) const { return a.key < b.key; }
};
using heap = leat::detail::heap_order<item, by_key>;

item take(heap& h) {
  leat::detail::raw_storage<item> slot;
  h.take(slot.get());
  return slot.take();
}

TEST_CASE("heap_order: matches a stable sort for any mix of pushes and pops") {
  leat::random_engine random(5);
  for (int round = 0; round < 300; ++round) {
    heap h{by_key{}};
    h.reserve(40);
    std::vector<std::pair<int, int>> model;  // key and number, in the expected order
    int next = 0;
    for (int step = 0; step < 200; ++step) {
      if (model.empty() || (model.size() < 40 && random.uniform_below(2) == 0)) {
        const int key = static_cast<int>(random.uniform_below(6));
        h.store(item{key, next});
        const auto behind = std::upper_bound(model.begin(), model.end(), key,
                                             [](int k, const auto& m) { return k < m.first; });
        model.insert(behind, {key, next++});
      } else {
        const item taken = take(h);
        REQUIRE(taken.key == model.front().first);
        REQUIRE(taken.number == model.front().second);
        model.erase(model.begin());
      }
    }
  }
}

TEST_CASE("heap_order: a returned item precedes its equals again") {
  heap h{by_key{}};
  h.reserve(8);
  for (int i = 0; i < 4; ++i) h.store(item{1, i});
  item first = take(h);
  item second = take(h);
  h.store(item{1, 4});
  h.put_back(std::move(second));
  h.put_back(std::move(first));
  for (int i = 0; i < 5; ++i) CHECK(take(h).number == i);
}

}  // namespace heap_order_test
