#include "leat/sync/queue_runner.hpp"

#include <algorithm>
#include <atomic>
#include <optional>
#include <stop_token>

#include "leat/core/error.hpp"
#include "leat/core/this_task.hpp"

namespace leat {

struct queue_runner::state {
  struct producer {
    enqueue_operation step;
    std::string name;
    scheduler* home;
  };
  struct cancel {
    queue_base* queue;
    void operator()() const noexcept { queue->close_and_cancel(); }
  };

  state(queue_base& q, std::vector<errc> errors) : queue(q), closed(std::move(errors)) {}

  [[nodiscard]] bool means_closed(const std::exception_ptr& error) const noexcept {
    const std::error_code ec = to_error_code(error);
    return std::any_of(closed.begin(), closed.end(), [&](errc c) { return ec == c; });
  }

  static task<void> run(std::shared_ptr<state> self, std::size_t index);

  queue_base& queue;
  const std::vector<errc> closed;
  std::vector<producer> producers;
  std::atomic<std::size_t> running{0};
  // A stop of the coordinator ends every wait in the queue, also of others than our tasks.
  std::optional<std::stop_callback<cancel>> on_stop;
};

// The state is shared: the last producer still uses it when the runner itself is gone already.
task<void> queue_runner::state::run(std::shared_ptr<state> self, std::size_t index) {
  std::exception_ptr error;
  try {
    const enqueue_operation& step = self->producers[index].step;
    for (bool more = true; more;) {
      if (co_await this_task::stop_requested()) break;
      more = co_await step();
    }
  } catch (...) {
    error = std::current_exception();
  }
  const bool ended_by_stop = co_await this_task::stop_requested();
  const bool last = self->running.fetch_sub(1) == 1;
  if (error && !self->means_closed(error)) {
    if (!ended_by_stop) self->queue.fail(error);
    std::rethrow_exception(error);
  }
  if (last && !ended_by_stop) self->queue.close();
}

queue_runner::queue_runner(queue_base& queue, queue_runner_options options)
    : state_(std::make_shared<state>(queue, std::move(options.queue_closed_errors))) {
  if (state_->closed.empty()) {
    throw failure(errc::invalid_argument,
                  name() +
                      ": queue_closed_errors is empty; give at least one error that means the "
                      "end of input");
  }
}

queue_runner::~queue_runner() { state_->on_stop.reset(); }

void queue_runner::add_step(enqueue_operation step, std::string name, scheduler* home) {
  LEAT_ASSERT(running() == 0, "an operation was added to a queue_runner that runs");
  if (name.empty()) name = "enqueue " + std::to_string(state_->producers.size());
  state_->producers.push_back({std::move(step), std::move(name), home});
}

bool queue_runner::start(coordinator& coord) {
  scheduler* s = scheduler::current();
  LEAT_ASSERT(s != nullptr, "queue_runner::start outside a scheduler: name one");
  return start(coord, *s);
}

bool queue_runner::start(coordinator& coord, scheduler& home) {
  if (state_->producers.empty()) {
    throw failure(errc::invalid_argument, name() + ": no enqueue operation; add() one first");
  }
  std::size_t none = 0;
  if (!state_->running.compare_exchange_strong(none, state_->producers.size())) return false;
  state_->on_stop.emplace(coord.get_stop_token(), state::cancel{&state_->queue});
  for (std::size_t i = 0; i < state_->producers.size(); ++i) {
    const state::producer& p = state_->producers[i];
    coord.spawn_on(p.home ? *p.home : home, state::run(state_, i), name() + " " + p.name);
  }
  return true;
}

std::size_t queue_runner::running() const noexcept { return state_->running.load(); }

std::string queue_runner::name() const { return "queue_runner " + state_->queue.name(); }

}  // namespace leat
