// memory_budget between queues: a pop from one queue wakes a push that waits for the budget in
// another. The queues never exceed the budget.

#include "leat/queue/fifo_queue.hpp"
#include "leat/queue/memory_budget.hpp"
#include "model/items.hpp"

namespace queue_budget_model {

using model::item;

struct each_one {
  std::size_t operator()(const item&) const { return 1; }
};
using queue = leat::fifo_queue<item, each_one>;

// Two queues with one producer each share a budget of one item, and one consumer empties them in
// turn. Only a pop can wake the push that waits in the other queue.
class across final : public model::program {
  static constexpr unsigned each = 2;

  void thread(unsigned index) override {
    if (index < 2) {
      for (unsigned n = 0; n < each; ++n) {
        model::push_item(queues_[index], index, n);
        model::require(budget_.used() <= 1, "the budget is exceeded");
      }
    } else {
      for (unsigned left = 2 * each; left > 0;) {
        for (queue& q : queues_) {
          if (const auto it = q.try_pop()) {
            ledger_.took(0, *it);
            --left;
          }
        }
        model::yield();
      }
    }
  }
  void finish() override {
    ledger_.check(2, each);
    model::require(budget_.used() == 0, "the budget counts items outside its queues");
    model::require(budget_.statistics().waiting == 0, "a queue is left waiting");
  }

  leat::memory_budget budget_{1};
  std::array<queue, 2> queues_{queue({.capacity = 2, .budget = &budget_}),
                               queue({.capacity = 2, .budget = &budget_})};
  model::ledger ledger_;
};

// One producer and one consumer for each queue. All of them block.
class two_pipes final : public model::program {
  static constexpr unsigned each = 2;

  void thread(unsigned index) override {
    queue& q = queues_[index % 2];
    if (index < 2) {
      for (unsigned n = 0; n < each; ++n) model::push_item(q, index, n);
      q.close();
    } else {
      while (const auto it = leat::block_on(q.pop())) ledger_.took(index % 2, *it);
    }
  }
  void finish() override {
    ledger_.check(2, each);
    model::require(budget_.statistics().peak == 1, "the budget was exceeded");
  }

  leat::memory_budget budget_{1};
  std::array<queue, 2> queues_{queue({.capacity = 2, .budget = &budget_}),
                               queue({.capacity = 2, .budget = &budget_})};
  model::ledger ledger_;
};

// Destroys the queue whose item fills the budget while a push waits in the other queue.
class one_goes final : public model::program {
 public:
  one_goes() { static_cast<void>(going_->try_push(item(0, 0))); }

 private:
  void thread(unsigned index) override {
    if (index == 0) {
      model::push_item(staying_, 1, 0);
    } else {
      going_.reset();
    }
  }
  void finish() override {
    model::require(budget_.used() == 1 && staying_.size() == 1, "the push has not completed");
    static_cast<void>(staying_.try_pop());
  }

  leat::memory_budget budget_{1};
  std::unique_ptr<queue> going_ =
      std::make_unique<queue>(leat::queue_options{.capacity = 1, .budget = &budget_});
  queue staying_{{.capacity = 1, .budget = &budget_}};
};

using model::make;
constexpr auto bounded = model::test::search::bounded;

const model::test tests[] = {
    {"queue budget: a pop from one queue wakes a push to another", 3, make<across>},
    {"queue budget: two producers and consumers of two queues", 4, make<two_pipes>},
    {"queue budget: destroying a queue frees memory for a push", 2, make<one_goes>, bounded},
};

}  // namespace queue_budget_model
