#include "leat/input/queue_list.hpp"

#include "leat/base/random.hpp"
#include "leat/queue.hpp"
#include "support/leat_test.hpp"

namespace queue_list_test {

using leat::dtype;
using leat::element_spec;
using leat::padding_fifo_queue;
using leat::partial_shape;
using leat::queue_list;

constexpr std::int64_t any = leat::unknown_dimension;

element_spec spec_of(dtype type, partial_shape shape) {
  return element_spec({{.type = type, .shape = std::move(shape)}});
}

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

LEAT_TEST("queue_list: selects a queue by index at run time") {
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

TEST_CASE("queue_list: at() rejects an index that is out of range") {
  leat::fifo_queue<int> a(1);
  leat::fifo_queue<int> b(1);
  const queue_list list(std::vector{&a, &b});
  CHECK(&list.at(0) == &a);
  CHECK(&list.at(1) == &b);
  CHECK_FAILS(errc::invalid_argument, "index is 3, must be less than the number of queues, 2",
              list.at(3).size());
  CHECK_FAILS(errc::invalid_argument, "index is 2, must be less than", list.at(2).size());
  CHECK_FAILS(errc::invalid_argument, "index is -1, must be less than", list.at(-1).size());
}

TEST_CASE("queue_list: has the common shapes of its queues") {
  CHECK(common({{1}, {2}}) == partial_shape{any});
  CHECK(common({{1, 1}, {1, 2}}) == partial_shape{1, any});
  CHECK(common({{any, 1}, {1, any}}) == partial_shape{any, any});
  CHECK(common({{1}, {1}, {1}}) == partial_shape{1});
  CHECK(common({{1}, {any}, {1}}) == partial_shape{any});
  CHECK(common({{1}, {1, 1}}) == partial_shape::unknown_rank());
}

TEST_CASE("queue_list: rejects an empty list, a null queue, and other types or names") {
  using queue = leat::fifo_queue<int>;
  CHECK_FAILS(errc::invalid_argument, "list is empty: pass at least one queue",
              queue_list(std::vector<queue*>()));
  CHECK_FAILS(errc::invalid_argument, "queue is null", queue_list(std::vector<queue*>{nullptr}));
  const element_spec named({{.type = dtype::int32, .shape = {}, .name = "a"}});
  CHECK(contains(list_refused(spec_of(dtype::int32, {}), spec_of(dtype::int64, {})),
                 "number, types or names"));
  CHECK(contains(list_refused(spec_of(dtype::int32, {}), named), "number, types or names"));
  CHECK(list_refused(named, named).empty());
}

}  // namespace queue_list_test
