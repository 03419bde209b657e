// push_many and pop_many: a batch is contiguous, completes as a whole and does not keep items that
// others could take.

#include "leat/queue/fifo_queue.hpp"
#include "model/items.hpp"

namespace queue_batches_model {

using model::item;
using queue = leat::fifo_queue<item>;

// Two producers each push a batch of three items, which exceeds the capacity. A consumer pops up to
// three items at a time.
template <std::size_t capacity>
class runs final : public model::program {
  static constexpr unsigned each = 3;

  void thread(unsigned index) override {
    if (index < 2) {
      std::vector<item> items = model::items_of(index, each);
      model::require(leat::block_on(queue_.push_many(items)) == each,
                     "a batch was not pushed whole");
      if (running_.fetch_sub(1, std::memory_order_relaxed) == 1) queue_.close();
    } else {
      while (const auto batch = leat::block_on(queue_.pop_up_to(each))) {
        model::require(batch->size() == each, "a batch was short before the end");
        for (const item& it : *batch) {
          model::require(it.producer() == batch->front().producer(), "a run was broken");
          ledger_.took(0, it);
        }
      }
    }
  }
  void finish() override { ledger_.check(2, each); }

  queue queue_{capacity};
  model::ledger ledger_;
  std::atomic<unsigned> running_{2};
};

// Two consumers pop batches of two, but there are three items. One batch completes and the other
// ends empty. The third item stays in the queue, even if a batch held it.
template <std::size_t capacity>
class too_few final : public model::program {
  void thread(unsigned index) override {
    if (index == 0) {
      for (unsigned n = 0; n < 3; ++n) model::push_item(queue_, 0, n);
      queue_.close_and_cancel();
    } else if (const auto batch = leat::block_on(queue_.pop_many(2))) {
      model::require(batch->size() == 2, "a batch was short");
      for (const item& it : *batch) ledger_.took(index, it);
      served_.fetch_add(1, std::memory_order_relaxed);
    }
  }
  void finish() override {
    model::require(served_.load() == 1, "not one batch of two could be made of three items");
    while (const auto it = queue_.try_pop()) ledger_.took(3, *it);
    ledger_.check(1, 3);
  }

  queue queue_{capacity};
  model::ledger ledger_;
  std::atomic<unsigned> served_{0};
};

using model::make;

const model::test tests[] = {
    {"queue batches: push_many and pop_up_to, capacity 1", 3, make<runs<1>>},
    {"queue batches: push_many and pop_up_to, capacity 2", 3, make<runs<2>>},
    {"queue batches: pop_many of too few items, capacity 1", 3, make<too_few<1>>},
    {"queue batches: pop_many of too few items, capacity 2", 3, make<too_few<2>>},
};

}  // namespace queue_batches_model
