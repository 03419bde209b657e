#include "leat/pipeline/element/detail/shuffle_slot.hpp"

#include <algorithm>

#include "leat/pipeline/element/detail/row_positions.hpp"
#include "leat/pipeline/element/owned_batch.hpp"
#include "support/leat_test.hpp"

namespace shuffle_slot_test {

using leat::owned_line_batch;

TEST_CASE("shuffle: a slot releases the memory of a single large row", "[pipeline]") {
  leat::detail::row_slot<std::string_view> place;
  const std::string large(1'000'000, 'x');
  const std::string small(100, 'y');
  place.put(large, {});
  CHECK(place.take() == large);
  place.put(small, {});
  CHECK(place.take() == small);
  CHECK(place.bytes.capacity() < 1'000);
}

// A type smaller than a word with a destructor, and types with words that are not addresses.
struct flag {
  ~flag() {}
  bool set = true;
};
struct words {
  std::uintptr_t numbers[40];
  std::string text;
};

TEST_CASE("shuffle: a restore produces every kind of element", "[pipeline]") {
  leat::detail::element_slot<flag> small;
  leat::detail::element_slot<words> large;
  std::ranges::fill(large.element.numbers, ~std::uintptr_t{0});
  large.put({{1, 2, 3}, "text"});
  for (int i = 0; i < 2; ++i) {
    leat::detail::prefetch_object(small);
    leat::detail::prefetch_object(large);
    small.prefetch();
    large.prefetch();
  }
  CHECK(small.take().set);
  CHECK(large.take().text == "text");
}

TEST_CASE("row_positions: keeps each owner of paths only once", "[pipeline]") {
  const auto keeper = std::make_shared<int>();
  owned_line_batch a;
  owned_line_batch b;
  a.keep_paths(keeper);
  b.keep_paths(std::make_shared<int>());
  leat::detail::row_positions<owned_line_batch> positions;
  for (int i = 0; i < 1'000; ++i) {
    positions.begin(a);
    positions.begin(b);
  }
  CHECK(keeper.use_count() == 3);  // with that of `a`
  const auto kept = positions.paths();
  a.keep_paths(nullptr);
  b.keep_paths(nullptr);
  CHECK(keeper.use_count() == 2);
}

}  // namespace shuffle_slot_test
