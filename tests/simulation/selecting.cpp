// Producers and consumers select among queues, with time limits, on several threads. A cancelled
// operation loses no item.

#include <array>
#include <variant>

#include "leat/sim/world/delivery_log.hpp"
#include "simulation/steps.hpp"

namespace simulation {
namespace {

using namespace std::chrono_literals;
using leat::errc;
using leat::task;
using leat::sim::world;

using queue = leat::fifo_queue<std::uint64_t>;
using queue_pair = std::array<std::unique_ptr<queue>, 2>;

constexpr std::uint64_t items_each = 8;

task<> produce(world& w, queue_pair& q, leat::sim::delivery_log& book, std::uint64_t self) {
  for (std::uint64_t i = 0; i < items_each; ++i) {
    const std::uint64_t id = self * items_each + i;
    book.record_push(self, id);
    bool in = false;
    try {
      if (below(w, 2) == 0) {
        const auto r = co_await leat::select(q[0]->push(id), q[1]->push(id),
                                             leat::sleep_for(1us * below(w, 5)));
        in = (r.index() == 0 && std::get<0>(r)) || (r.index() == 1 && std::get<1>(r));
      } else {
        in = co_await leat::with_timeout(q[below(w, 2)]->push(id), 1us * below(w, 5));
      }
    } catch (const leat::failure& e) {
      require_early_end(e);
    }
    if (!in) book.record_rejected(id);
  }
}

task<> consume(world& w, queue_pair& q, leat::sim::delivery_log& book, std::uint64_t self) {
  for (;;) {
    try {
      switch (below(w, 4)) {
        case 0: {
          const auto r =
              co_await leat::select(q[0]->pop(), q[1]->pop(), leat::sleep_for(1us * below(w, 5)));
          if (r.index() == 2) break;
          const auto& item = r.index() == 0 ? std::get<0>(r) : std::get<1>(r);
          if (!item) co_return;
          book.record_pop(self, *item);
          break;
        }
        case 1: {
          const auto item = co_await leat::with_timeout(q[below(w, 2)]->pop(), 1us * below(w, 5));
          if (!item) co_return;
          book.record_pop(self, *item);
          break;
        }
        case 2: {
          const auto r = co_await leat::select(leat::with_timeout(q[0]->pop(), 1us * below(w, 5)),
                                               leat::with_timeout(q[1]->pop(), 1us * below(w, 5)));
          const auto& item = r.index() == 0 ? std::get<0>(r) : std::get<1>(r);
          if (!item) co_return;
          book.record_pop(self, *item);
          break;
        }
        default: {
          const auto r = co_await leat::select(q[0]->pop_many(2), q[1]->pop_up_to(2),
                                               leat::sleep_for(1us * below(w, 5)));
          if (r.index() == 2) break;
          const auto& batch = r.index() == 0 ? std::get<0>(r) : std::get<1>(r);
          if (!batch) co_return;
          for (const std::uint64_t id : *batch) book.record_pop(self, id);
        }
      }
    } catch (const leat::failure& e) {
      require_early_end(e);
      if (e.code() == errc::cancelled) co_return;
    }
  }
}

}  // namespace

task<> selecting(world& w) {
  queue_pair q;
  for (auto& one : q) {
    one = std::make_unique<queue>(1 + below(w, 3), "q");
    w.add_invariants(*one);
  }
  // The items of a producer need not stay in order, because they use two queues.
  leat::sim::delivery_log book("items", false);
  leat::task_group producers("producers");
  leat::task_group consumers("consumers");
  std::exception_ptr error;
  for (std::uint64_t i = 0; i < 3; ++i) {
    producers.spawn_on(w.thread(static_cast<std::size_t>(i)), produce(w, q, book, i), "producer");
    consumers.spawn_on(w.thread(static_cast<std::size_t>(i)), consume(w, q, book, i), "consumer");
  }
  if (below(w, 3) == 0) {
    co_await pause(w, 10);
    consumers.request_stop();
  }
  for (leat::task_group* group : {&producers, &consumers}) {
    co_await join_into(error, *group);
    for (auto& one : q) one->close();
  }
  w.clear_invariants();
  if (error) std::rethrow_exception(error);
  book.check_complete(q[0]->size() + q[1]->size());
}

}  // namespace simulation
