// fifo_queue between threads: no item is lost or duplicated, and no operation is left waiting.

#include "leat/queue/fifo_queue.hpp"
#include "model/items.hpp"

namespace queue_model {

using model::item;
using queue = leat::fifo_queue<item>;

// Producers push two items each, the last producer closes the queue, and consumers pop until the
// end.
template <unsigned producers, unsigned consumers, std::size_t capacity>
class pipe final : public model::program {
  static constexpr unsigned each = 2;

  void thread(unsigned index) override {
    if (index < producers) {
      for (unsigned n = 0; n < each; ++n) model::push_item(queue_, index, n);
      if (running_.fetch_sub(1, std::memory_order_relaxed) == 1) {
        model::require(queue_.close(), "a close found the queue closed");
      }
    } else {
      while (const auto it = leat::block_on(queue_.pop())) ledger_.took(index - producers, *it);
      model::require(queue_.is_closed(), "a pop ended before the close");
    }
  }
  void finish() override {
    ledger_.check(producers, each);
    model::require(queue_.size() == 0, "the queue is not drained");
  }

  queue queue_{capacity};
  model::ledger ledger_;
  std::atomic<unsigned> running_{producers};
};

// As above, but tries the non-blocking form first and the blocking form if that fails.
template <std::size_t capacity>
class mixed_faces final : public model::program {
  static constexpr unsigned each = 3;

  void thread(unsigned index) override {
    if (index == 0) {
      for (unsigned n = 0; n < each; ++n) {
        item it(0, n);
        if (queue_.try_push(std::move(it))) continue;
        model::require(!it.is_gone(), "a push that failed took the item");
        model::require(leat::block_on(queue_.push(std::move(it))), "a push found the queue closed");
      }
      queue_.close();
    } else {
      for (;;) {
        auto it = queue_.try_pop();
        if (!it) it = leat::block_on(queue_.pop());
        if (!it) break;
        ledger_.took(index - 1, *it);
      }
    }
  }
  void finish() override { ledger_.check(1, each); }

  queue queue_{capacity};
  model::ledger ledger_;
};

// Without a close: each push has to wake a waiting pop, and each pop a waiting push.
class unclosed final : public model::program {
  static constexpr unsigned each = 3;

  void thread(unsigned index) override {
    for (unsigned n = 0; n < each; ++n) {
      if (index == 0) {
        model::push_item(queue_, 0, n);
      } else if (const auto it = leat::block_on(queue_.pop())) {
        ledger_.took(0, *it);
      }
    }
  }
  void finish() override { ledger_.check(1, each); }

  queue queue_{1};
  model::ledger ledger_;
};

// An operation that fails comes before the one that would have let it succeed, and so does
// everything that its thread did earlier. `pushes`: a push to a full queue; otherwise a pop from an
// empty one.
template <bool pushes>
class failed_operation final : public model::program {
  void thread(unsigned index) override {
    if (index == 0) {
      announced_.store(1, std::memory_order_relaxed);
      failed_ = pushes ? !queue_.try_push(item(0, 0)) : !queue_.try_pop();
    } else {
      static_cast<void>(queue_.try_push(item(1, 0)));
      if (pushes) static_cast<void>(queue_.try_pop());
      seen_ = announced_.load(std::memory_order_relaxed) == 1;
    }
  }
  void finish() override {
    model::require(!failed_ || seen_, pushes ? "a push that failed is not ordered before the pop"
                                             : "a pop that failed is not ordered before the push");
  }

  queue queue_{1};
  std::atomic<unsigned> announced_{0};
  bool failed_ = false;
  bool seen_ = false;
};

template <unsigned p, unsigned c, std::size_t capacity>
constexpr auto make_pipe = &model::make<pipe<p, c, capacity>>;

using model::make;
constexpr auto bounded = model::test::search::bounded;

const model::test tests[] = {
    {"queue: 1 producer, 1 consumer, capacity 1", 2, make_pipe<1, 1, 1>, bounded},
    {"queue: 1 producer, 1 consumer, capacity 2", 2, make_pipe<1, 1, 2>},
    {"queue: 2 producers, 1 consumer, capacity 1", 3, make_pipe<2, 1, 1>},
    {"queue: 2 producers, 1 consumer, capacity 2", 3, make_pipe<2, 1, 2>},
    {"queue: 1 producer, 2 consumers, capacity 1", 3, make_pipe<1, 2, 1>},
    {"queue: 1 producer, 2 consumers, capacity 2", 3, make_pipe<1, 2, 2>},
    {"queue: 2 producers, 2 consumers, capacity 1", 4, make_pipe<2, 2, 1>},
    {"queue: 2 producers, 2 consumers, capacity 2", 4, make_pipe<2, 2, 2>},
    {"queue: a push and a pop wake each other without a close", 2, make<unclosed>},
    {"queue: a push that fails is ordered before the pop", 2, make<failed_operation<true>>,
     bounded},
    {"queue: a pop that fails is ordered before the push", 2, make<failed_operation<false>>,
     bounded},
    {"queue: try_push and try_pop next to waiting operations", 3, make<mixed_faces<1>>},
};

}  // namespace queue_model
