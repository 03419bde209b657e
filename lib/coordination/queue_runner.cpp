#include "leat/coordination/queue_runner.hpp"

#include <utility>

#include "coordination/queue_runner_state.hpp"

namespace LEAT {

detail::queue_runner_config::queue_runner_config(queue_base& q, queue_runner_options o)
    : queue(q), options(std::move(o)) {
  if (options.queue_closed_errors.empty()) {
    throw failure(errc::invalid_argument,
                  "queue_runner '" + queue.name() +
                      "': queue_closed_errors is empty: set at least one error that means the end "
                      "of input");
  }
  for (const errc e : options.queue_closed_errors) {
    if (e >= errc::cancelled && e <= errc::unauthenticated) continue;
    throw failure(errc::invalid_argument, "queue_runner '" + queue.name() +
                                              "': " + std::to_string(static_cast<int>(e)) +
                                              " in queue_closed_errors is not an error code: use "
                                              "values of leat::errc");
  }
}

queue_runner::queue_runner(queue_base& queue, queue_runner_options options)
    : config_(std::make_shared<detail::queue_runner_config>(queue, std::move(options))) {
  queue.add_unstarted_runner();
}

queue_runner::~queue_runner() {
  const queue_runner_handle last = last_start();
  if (last) {
    last.state_->forget_stop();
  } else {
    config_->queue.remove_unstarted_runner();
  }
}

void queue_runner::add_step(enqueue_operation step, std::string name, scheduler* on) {
  LEAT_ASSERT(running_producers() == 0,
              "queue_runner::add() while it is running: add all operations before start()");
  if (name.empty()) name = "enqueue " + std::to_string(config_->producers.size());
  config_->producers.push_back({std::move(step), std::move(name), on});
}

void queue_runner::require_operations() const {
  if (!config_->producers.empty()) return;
  throw failure(errc::invalid_argument, "queue_runner '" + queue_name() +
                                            "': no enqueue operation: call add() before start()");
}

// ------------------------------------------------------------------------------------------ start

queue_runner_handle queue_runner::start_on(task_owner owner, scheduler* on) {
  LEAT_ASSERT(on != nullptr, "queue_runner::start() outside a scheduler: pass the scheduler");
  require_operations();
  const queue_runner_handle fresh(std::make_shared<detail::queue_runner_state>(config_, owner));
  queue_runner_handle previous;
  {
    const detail::thread_lock lock(mutex_);
    if (last_.running_producers() != 0) return {};
    previous = std::exchange(last_, fresh);  // counts as running from now on
  }
  try {
    detail::queue_runner_state::start(fresh.state_, *on);
  } catch (...) {
    const detail::thread_lock lock(mutex_);
    last_ = std::move(previous);
    throw;
  }
  if (previous) {
    previous.state_->forget_stop();
  } else {
    config_->queue.remove_unstarted_runner();
  }
  return fresh;
}

namespace {

[[noreturn]] void throw_running(const std::string& name) {
  throw failure(errc::failed_precondition,
                "queue_runner '" + name +
                    "' is already running: join the current run before you start another");
}

}  // namespace

task<void> queue_runner::run(std::source_location where) {
  task_group group(name());
  std::exception_ptr error;
  try {
    if (!start(group)) throw_running(queue_name());
  } catch (...) {
    error = std::current_exception();
  }
  co_await group.join(where);
  if (error) std::rethrow_exception(error);
}

// ----------------------------------------------------------------------------------------- queries

queue_runner_handle queue_runner::last_start() const {
  const detail::thread_lock lock(mutex_);
  return last_;
}

std::string queue_runner::name() const { return config_->name(); }

const std::string& queue_runner::queue_name() const noexcept { return config_->queue.name(); }

std::vector<std::string> queue_runner::operation_names() const {
  std::vector<std::string> names;
  for (const auto& p : config_->producers) names.push_back(p.name);
  return names;
}

const queue_runner_options& queue_runner::options() const noexcept { return config_->options; }

}  // namespace LEAT
