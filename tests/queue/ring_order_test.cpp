#include "leat/queue/detail/ring_order.hpp"

#include "leat/queue/detail/raw_storage.hpp"
#include "support/leat_test.hpp"
#include "support/tracked.hpp"

using leat::detail::ring_order;
using leat_test::counts;
using leat_test::tracked;

namespace ring_order_test {

template <class T>
T taken(ring_order<T>& ring) {
  leat::detail::raw_storage<T> slot;
  ring.take(slot.get());
  return slot.take();
}

TEST_CASE("ring_order: reserves capacity rounded up to a power of two") {
  ring_order<int> ring;
  CHECK(ring.slots() == ring.size());
  const std::size_t reserved[] = {1, 8, 9, 17};
  const std::size_t places[] = {8, 8, 16, 32};
  std::size_t stored = 0;
  for (int i = 0; i < 4; ++i) {
    ring.reserve(reserved[i]);
    for (; ring.slots() > ring.size(); ++stored) ring.store(static_cast<int>(stored));
    CHECK(stored == places[i]);
  }
  for (int i = 0; i < 32; ++i) CHECK(taken(ring) == i);
}

TEST_CASE("ring_order: wraps around, and can grow while it is wrapped") {
  ring_order<int> ring;
  ring.reserve(8);
  int in = 0;
  int out = 0;
  for (; in < 8; ++in) ring.store(int{in});
  for (; out < 5; ++out) CHECK(taken(ring) == out);
  CHECK(ring.slots() > ring.size());
  for (; in < 13; ++in) ring.store(int{in});
  CHECK(ring.slots() == ring.size());
  ring.reserve(9);
  CHECK(ring.slots() > ring.size());
  for (; in < 21; ++in) ring.store(int{in});
  CHECK(ring.slots() == ring.size());
  for (; out < in; ++out) CHECK(taken(ring) == out);
}

TEST_CASE("ring_order: a returned item comes first") {
  ring_order<int> ring;
  ring.reserve(8);
  ring.store(1);
  ring.store(2);
  const int first = taken(ring);
  ring.put_back(int{first});
  CHECK(taken(ring) == 1);
  ring.put_back(7);  // also at the beginning of the ring
  ring.put_back(6);
  CHECK(taken(ring) == 6);
  CHECK(taken(ring) == 7);
  CHECK(taken(ring) == 2);
}

TEST_CASE("ring_order: destroys every item once") {
  counts c;
  {
    ring_order<tracked> ring;
    ring.reserve(8);
    for (int i = 0; i < 8; ++i) ring.store(tracked(c, i));
    CHECK(c.objects == 8);
    CHECK(taken(ring) == 0);
    CHECK(c.objects == 7);
    ring.reserve(20);
    CHECK(c.objects == 7);
    ring.put_back(tracked(c, 0));
    CHECK(c.objects == 8);
    CHECK(c.live == 8);
  }
  CHECK(c.objects == 0);
  CHECK(c.live == 0);
}

TEST_CASE("ring_order: rejects an impossible reservation without effect") {
  ring_order<int> ring;
  ring.reserve(8);
  ring.store(1);
  CHECK_THROWS_AS(ring.reserve(SIZE_MAX), std::bad_alloc);
  CHECK_THROWS_AS(ring.reserve(SIZE_MAX / sizeof(int) + 1), std::bad_alloc);
  CHECK(taken(ring) == 1);
}

}  // namespace ring_order_test
