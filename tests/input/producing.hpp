#pragma once

// Common parts of the tests of producers.

#include <map>

#include "leat/input/basic_producer.hpp"
#include "support/leat_test.hpp"

namespace producing {
using names = std::vector<std::string>;

/// Returns all elements of a queue.
template <class Queue>
task<std::vector<typename Queue::value_type>> items_of(Queue& queue) {
  std::vector<typename Queue::value_type> out;
  while (auto item = co_await queue.pop()) out.push_back(std::move(*item));
  co_return out;
}

/// Returns all elements of a producer that runs on this scheduler, or on the current one.
template <class Producer, class... Scheduler>
task<std::vector<typename Producer::value_type>> all_of(Producer& p, Scheduler&... on) {
  leat::coordinator coord;
  p.start(coord, on...);
  auto out = co_await items_of(p.queue());
  co_await coord.join();
  co_return out;
}

/// The end that a consumer outside the coordinator observes, and the result of join().
struct end {
  std::string consumer;
  std::string coordinator;
  errc code = {};
  std::size_t items = 0;
};

template <class Producer>
task<end> end_of(Producer& p) {
  leat::coordinator coord;
  p.start(coord);
  end e;
  try {
    while (co_await p.queue().pop()) ++e.items;
  } catch (const leat::failure& f) {
    e.consumer = f.what();
    e.code = static_cast<errc>(f.code().value());
  }
  e.coordinator = co_await message_of<leat::failure>(coord.join());
  co_return e;
}

/// Counts each order of `n` items, and checks that every count is within the bounds.
template <class T>
void check_orders(const std::vector<T>& all, std::size_t n, std::size_t orders, int least,
                  int most) {
  std::map<std::vector<T>, int> found;
  for (auto at = all.begin(); at != all.end(); at += static_cast<long>(n)) {
    ++found[std::vector<T>(at, at + static_cast<long>(n))];
  }
  CHECK(found.size() == orders);
  for (const auto& [order, count] : found) {
    CHECK(count >= least);
    CHECK(count <= most);
  }
}

}  // namespace producing
