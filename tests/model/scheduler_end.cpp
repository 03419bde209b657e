// The destruction of a scheduler while other threads wake and stop its tasks.

#include "leat/async/select.hpp"
#include "leat/async/task_group.hpp"
#include "leat/queue/fifo_queue.hpp"
#include "model/items.hpp"
#include "model/scheduler.hpp"

namespace scheduler_end_model {

using model::item;
using queue = leat::fifo_queue<item>;

leat::task<void> pop_one(queue& q, model::ledger& ledger) {
  try {
    if (const auto it = co_await q.pop()) ledger.took(0, *it);
  } catch (const leat::failure&) {
  }
}

leat::task<void> select_one(queue& q, queue& never, model::ledger& ledger) {
  try {
    const auto won = co_await leat::select(never.pop(), q.pop());
    if (won.index() == 1) ledger.took(0, *std::get<1>(won));
  } catch (const leat::failure&) {
  }
}

enum class kind { pop, select };

// One thread destroys the scheduler, before or after a turn. One pushes the item that its task
// waits for, and one stops the task. The task takes the item or it stays in the queue.
template <kind waiting>
class ended final : public model::ending_program {
 public:
  ended() {
    start(waiting == kind::pop ? pop_one(queue_, ledger_) : select_one(queue_, never_, ledger_));
  }

 private:
  void end_wait() override { model::push_item(queue_, 0, 0); }
  void finish() override {
    require_ended();
    while (const auto it = queue_.try_pop()) ledger_.took(1, *it);
    ledger_.check(1, 1);
  }

  queue queue_{1};
  queue never_{1};
  model::ledger ledger_;
};

using model::make;

const model::test tests[] = {
    {"scheduler end: a task that pops, against a push and a stop", 3, make<ended<kind::pop>>},
    {"scheduler end: a task in a select, against a push and a stop", 3, make<ended<kind::select>>},
};

}  // namespace scheduler_end_model
