#include "leat/net/connect.hpp"

#include <algorithm>
#include <chrono>
#include <exception>
#include <string>
#include <vector>

#include "leat/async/select.hpp"
#include "leat/async/sleep.hpp"
#include "leat/async/task_group.hpp"
#include "leat/async/this_task.hpp"
#include "leat/base/error.hpp"
#include "leat/sync/event.hpp"

namespace LEAT {

task<std::vector<endpoint>> resolve(endpoint name) {
  if (!name.is_name()) co_return std::vector<endpoint>{std::move(name)};
  co_return co_await get_network_backend(this_task::get_scheduler()).resolve(std::move(name));
}

}  // namespace LEAT

namespace LEAT::detail {
namespace {

using stream_ptr = std::unique_ptr<network_stream>;

// The time after which an address that has not answered gets a rival: RFC 8305, section 5.
constexpr auto head_start = std::chrono::milliseconds(250);

// The attempts to reach one of several addresses.
class race {
 public:
  race(network_backend& network, endpoint to, std::vector<endpoint> addresses,
       connection_options options)
      : network_(network),
        to_(std::move(to)),
        addresses_(std::move(addresses)),
        options_(options),
        errors_(addresses_.size()) {}

  task<stream_ptr> run() {
    co_await with_task_group([this](task_group& attempts) { return run_attempts(attempts); });
    if (!winner_) fail();
    co_return std::move(winner_);
  }

 private:
  task<> run_attempts(task_group& attempts) {
    std::size_t started = 0;
    while (!winner_ && (started < addresses_.size() || running_ > 0)) {
      changed_.reset();
      if (started < addresses_.size()) {
        ++running_;
        attempts.spawn(attempt(started), addresses_[started].text());
        ++started;
      }
      if (started < addresses_.size()) {
        static_cast<void>(co_await select(changed_.wait(), sleep_for(head_start)));
      } else {
        co_await changed_.wait();
      }
    }
    attempts.request_stop();
  }

  task<> attempt(std::size_t i) {
    try {
      stream_ptr made = co_await network_.connect(addresses_[i], options_);
      if (!winner_) winner_ = std::move(made);
    } catch (...) {
      errors_[i] = std::current_exception();
    }
    --running_;
    changed_.set();
  }

  [[noreturn]] void fail() const {
    std::string text = "connect to " + to_.text();
    const char* before = ": ";
    for (std::size_t i = 0; i < addresses_.size(); ++i) {
      text += std::exchange(before, "; ") + addresses_[i].text() + ' ' +
              to_error_code(errors_[i]).message();
    }
    throw failure(to_error_code(errors_.front()), text);
  }

  network_backend& network_;
  const endpoint to_;
  const std::vector<endpoint> addresses_;
  const connection_options options_;
  std::vector<std::exception_ptr> errors_;
  event changed_;
  std::size_t running_ = 0;
  stream_ptr winner_;
};

task<stream_ptr> connect_to_any(network_backend& network, endpoint to, connection_options options) {
  if (!to || to.is_any() || (!to.is_unix() && to.port() == 0)) {
    throw failure(errc::invalid_argument,
                  "connect to " + to.text() + ": this is no address of a peer");
  }
  if (!to.is_name()) co_return co_await network.connect(std::move(to), options);
  std::vector<endpoint> addresses = co_await network.resolve(to);
  if (addresses.empty()) {
    throw failure(errc::not_found, "connect to " + to.text() + ": the name has no address");
  }
  race r(network, std::move(to), std::move(addresses), options);
  co_return co_await r.run();
}

}  // namespace

// Reports the end of the task if its scheduler destroys it.
class connect_state::end_guard {
 public:
  explicit end_guard(connect_state& s) noexcept : state_(&s) {}
  end_guard(const end_guard&) = delete;
  end_guard& operator=(const end_guard&) = delete;
  ~end_guard() {
    if (!state_) return;
    std::exception_ptr error;
    try {
      throw failure(errc::cancelled,
                    "connect to " + state_->name() + ": the scheduler of the connection has ended");
    } catch (...) {  // perhaps std::bad_alloc
      error = std::current_exception();
    }
    state_->ended({}, std::move(error));
  }
  void dismiss() noexcept { state_ = nullptr; }

 private:
  connect_state* state_;
};

task<> connect_state::run(std::shared_ptr<connect_state> self, network_backend& network) {
  end_guard guard(*self);
  connection made;
  std::exception_ptr error;
  try {
    made = connection(co_await with_stop(connect_to_any(network, self->to_, self->options_),
                                         self->stop_.get_token()));
  } catch (...) {
    error = std::current_exception();
  }
  guard.dismiss();
  self->ended(std::move(made), std::move(error));
}

void connect_state::start(const synchronizer_waiter& w) {
  scheduler* const on = on_ ? on_ : w.waiting_on();
  if (!on) {
    throw failure(errc::failed_precondition,
                  "connect() outside a task: pass the scheduler to which the connection belongs");
  }
  if (scheduler::current() == on) {
    start_here(*on);
    return;
  }
  starter_.state = shared_from_this();
  starter_.run_ = [](work_item& item) noexcept {
    const auto self = std::move(static_cast<starter&>(item).state);
    end_guard guard(*self);
    if (scheduler::current_is_ending()) return;
    guard.dismiss();
    try {
      self->start_here(*scheduler::current());
    } catch (...) {
      self->ended({}, std::current_exception());
    }
  };
  on->post(starter_);
}

void connect_state::start_here(scheduler& on) {
  network_backend& network = get_network_backend(on);
  network.connecting().spawn_on(on, run(shared_from_this(), network), name());
}

void connect_state::ended(connection c, std::exception_ptr error) noexcept {
  work_list woken;
  {
    const lock_type lock(mutex_);
    made_ = std::move(c);
    error_ = std::move(error);
    done_ = true;
    woken = serve();
  }
  wake_all(woken);
}

connection connect_state::take() {
  const lock_type lock(mutex_);
  if (error_) std::rethrow_exception(std::exchange(error_, nullptr));
  return std::move(made_);
}

}  // namespace LEAT::detail
