#include "leat/queue/queue_list.hpp"

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "leat/base/random.hpp"
#include "leat/queue/fifo_queue.hpp"
#include "leat/queue/padding_fifo_queue.hpp"
#include "queue/tensors.hpp"
#include "support/leat_test.hpp"
#include "support/refusal.hpp"

namespace queue_list_test {

using leat::dtype;
using leat::element_spec;
using leat::padding_fifo_queue;
using leat::partial_shape;
using leat::queue_list;
using leat_test::contains;
using leat_test::refusal;

// Returns the common shape of queues with these shapes.
partial_shape common(std::vector<partial_shape> shapes) {
  std::vector<std::unique_ptr<padding_fifo_queue>> queues;
  std::vector<padding_fifo_queue*> pointers;
  for (partial_shape& s : shapes) {
    queues.push_back(std::make_unique<padding_fifo_queue>(spec_of(dtype::int32, std::move(s)), 1));
    pointers.push_back(queues.back().get());
  }
  return queue_list(std::move(pointers)).spec()[0].shape;
}

std::string list_refused(const element_spec& a, const element_spec& b) {
  padding_fifo_queue first(a, 1);
  padding_fifo_queue second(b, 1);
  return refusal([&] { return queue_list(std::vector{&first, &second}).count(); });
}

LEAT_TEST("queue_list: selects a queue by index at run time", "[queue]") {
  std::vector<std::unique_ptr<leat::fifo_queue<int>>> queues;
  std::vector<leat::fifo_queue<int>*> pointers;
  for (std::size_t i = 0; i < 10; ++i) {
    queues.push_back(std::make_unique<leat::fifo_queue<int>>(10 + i));
    pointers.push_back(queues.back().get());
  }
  const queue_list list(pointers);
  CHECK(list.count() == 10);
  leat::random_engine random(1);
  for (int i = 0; i < 20; ++i) {
    const auto index = static_cast<std::int64_t>(random.uniform_below(10));
    co_await list.at(index).push(10);
    CHECK(queues[static_cast<std::size_t>(index)]->size() == 1);
    CHECK(co_await list.at(index).pop() == 10);
  }
}

TEST_CASE("queue_list: at() rejects an index that is out of range", "[queue]") {
  leat::fifo_queue<int> a(1);
  leat::fifo_queue<int> b(1);
  const queue_list list(std::vector{&a, &b});
  CHECK(&list.at(0) == &a);
  CHECK(&list.at(1) == &b);
  CHECK(contains(refusal([&] { return list.at(3).size(); }),
                 "index is 3, must be less than the number of queues, 2"));
  CHECK(contains(refusal([&] { return list.at(2).size(); }), "index is 2, must be less than"));
  CHECK(contains(refusal([&] { return list.at(-1).size(); }), "index is -1, must be less than"));
}

TEST_CASE("queue_list: has the common shapes of its queues", "[queue]") {
  CHECK(common({{1}, {2}}) == partial_shape{any});
  CHECK(common({{1, 1}, {1, 2}}) == partial_shape{1, any});
  CHECK(common({{any, 1}, {1, any}}) == partial_shape{any, any});
  CHECK(common({{1}, {1}, {1}}) == partial_shape{1});
  CHECK(common({{1}, {any}, {1}}) == partial_shape{any});
  CHECK(common({{1}, {1, 1}}) == partial_shape::unknown_rank());
}

TEST_CASE("queue_list: rejects an empty list, a null queue, and other types or names", "[queue]") {
  using queue = leat::fifo_queue<int>;
  CHECK(contains(refusal([] { return queue_list(std::vector<queue*>()).count(); }),
                 "list is empty: pass at least one queue"));
  CHECK(contains(refusal([] { return queue_list(std::vector<queue*>{nullptr}).count(); }),
                 "queue is null"));
  const element_spec named({{.type = dtype::int32, .shape = {}, .name = "a"}});
  CHECK(contains(list_refused(scalars(), spec_of(dtype::int64, {})), "number, types or names"));
  CHECK(contains(list_refused(scalars(), named), "number, types or names"));
  CHECK(list_refused(named, named).empty());
}

}  // namespace queue_list_test
