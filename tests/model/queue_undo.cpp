// A provisional pop that is committed or undone, against a close and a pop of the closed queue.

#include "leat/queue/fifo_queue.hpp"
#include "model/items.hpp"
#include "model/queue_sleeper.hpp"

namespace queue_undo_model {

using leat::wait_outcome;
using model::item;
using model::sleeper;
using queue = leat::fifo_queue<item>;

enum class then { commit, undo };

// One thread pushes an item and closes the queue. The other pop takes the item if this one does
// not, and reports the end only when no item can return.
template <then what>
class provisional_pop final : public model::program {
  void thread(unsigned index) override {
    if (index == 0) {
      pop_and_decide();
    } else if (index == 1) {
      model::push_item(queue_, 0, 0);
      queue_.close();
    } else {
      while (const auto it = leat::block_on(queue_.pop())) ledger_.took(1, *it);
      model::require(queue_.size() == 0 && queue_.statistics().held == 0,
                     "a pop reported the end, and an item is there or can return");
    }
  }
  void pop_and_decide() {
    leat::detail::pop_operation<queue, item> operation{&queue_};
    sleeper self(queue_, operation);
    const wait_outcome o = self.sleep_provisional();
    if (o != wait_outcome::done) {
      model::require(o == wait_outcome::closed, "neither done nor closed");
    } else if (what == then::commit) {
      queue_.commit(self);
      ledger_.took(0, operation.slot.take());
    } else {
      queue_.undo(self);
      model::require(self.outcome() == wait_outcome::cancelled, "an undo had no effect");
    }
  }
  void finish() override {
    model::require(queue_.size() == 0, "an item returned after the end");
    ledger_.check(1, 1);
    const auto s = queue_.statistics();
    model::require(s.popped == 1 && s.held == 0 && s.provisional_pops == 0, "wrong statistics");
  }

  queue queue_{1};
  model::ledger ledger_;
};

// A provisional pop makes way for a push of another thread and is undone, so the queue may hold
// more items than its capacity. A third thread takes one item.
class undone_into_full final : public model::program {
 public:
  undone_into_full() { static_cast<void>(queue_.try_push(item(0, 0))); }

 private:
  void thread(unsigned index) override {
    if (index == 0) {
      leat::detail::pop_operation<queue, item> operation{&queue_};
      sleeper self(queue_, operation);
      model::require(self.sleep_provisional() == wait_outcome::done, "a pop found no item");
      queue_.undo(self);
    } else if (index == 1) {
      model::push_item(queue_, 0, 1);
    } else {
      if (const auto it = leat::block_on(queue_.pop())) ledger_.took(0, *it);
    }
  }
  void finish() override {
    while (const auto it = queue_.try_pop()) ledger_.took(1, *it);
    model::require(ledger_.count() == 2, "an item was lost, or is there twice");
    model::require(ledger_.times(0, 0) == 1 && ledger_.times(0, 1) == 1, "an item was lost");
  }

  queue queue_{1};
  model::ledger ledger_;
};

using model::make;

const model::test tests[] = {
    {"queue undo: a commit against a close and a pop", 3, make<provisional_pop<then::commit>>},
    {"queue undo: an undo against a close and a pop", 3, make<provisional_pop<then::undo>>},
    {"queue undo: an undo into a queue that is full again", 3, make<undone_into_full>},
};

}  // namespace queue_undo_model
