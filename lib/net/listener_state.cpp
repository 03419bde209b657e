#include "leat/net/detail/listener_state.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <new>

#include "base/internal/standard_error.hpp"
#include "base/text/text_in_seconds.hpp"
#include "leat/async/scheduler/scheduler.hpp"
#include "leat/base/error.hpp"

namespace LEAT::detail {
namespace {

using namespace std::chrono_literals;

constexpr duration shortest_pause = 10ms;
constexpr duration longest_pause = 1s;

// Of one connection, which is then gone: accept(2).
bool is_of_connection(const asio_error_code& ec) noexcept {
  constexpr std::array errors{ECONNABORTED, EPROTO, ENETDOWN,   ENOPROTOOPT,
                              EHOSTDOWN,    ENONET, EPERM,      EHOSTUNREACH,
                              ENETUNREACH,  EINTR,  ECONNRESET, ETIMEDOUT};
  return std::ranges::find(errors, ec.value()) != errors.end();
}
bool is_exhaustion(const asio_error_code& ec) noexcept {
  constexpr std::array errors{EMFILE, ENFILE, ENOBUFS, ENOMEM};
  return std::ranges::find(errors, ec.value()) != errors.end();
}

}  // namespace

listener_state::listener_state(scheduler& s, std::unique_ptr<network_acceptor> a)
    : synchronizer("listener", order::first_in_first_out, a->local().text()),
      scheduler_(s),
      local_(a->local()),
      acceptor_(std::move(a)) {}

void listener_state::end_pause(timer& t) noexcept {
  listener_state& state = static_cast<pause&>(t).self;
  {
    const lock_type lock(state.mutex_);
    state.is_paused_ = false;
    state.is_watching_ = true;  // as if `ready_` was posted, which no other thread may do now
  }
  state.ready();
}

// Takes the next connection of the kernel. Returns false if there is none, or if it cannot be taken
// now.
bool listener_state::accept_one() {
  taken_.emplace_back();  // first: later, a lack of memory would lose the connection
  for (int failed = 0;; ++failed) {
    asio_error_code error;
    try {
      taken_.back() = acceptor_->accept(error);
    } catch (const std::bad_alloc&) {
      error = asio::error::no_memory;
    }
    if (taken_.back()) {
      ++accepted_;
      exhausted_.clear();
      next_pause_ = shortest_pause;
      return true;
    }
    // The limit is for an error that does not end, for example because the system forbids it.
    constexpr int most_failed = 64;
    if (error && is_of_connection(error) && failed < most_failed) {
      ++failed_;
      continue;
    }
    taken_.pop_back();
    if (!error) {
      exhausted_.clear();
      next_pause_ = {};
    } else if (is_exhaustion(error) || is_of_connection(error)) {
      set_exhausted(error);
    } else {
      broken_ = error;
    }
    return false;
  }
}

bool listener_state::try_accept() {
  const lock_type lock(mutex_);
  if (!acceptor_ || !waiting_.empty()) return false;
  if (taken_.size() <= granted_ && !accept_one()) return false;
  ++granted_;
  return true;
}

// The other ready tasks of the scheduler run first: so a loop of accepts does not take all
// descriptors of the process before the first connection is served.
void listener_state::begin_arrival() noexcept {
  const lock_type lock(mutex_);
  ++arriving_;
  if (!acceptor_ || is_watching_ || is_paused_) return;
  is_watching_ = true;
  scheduler_.post(ready_);
}

void listener_state::end_arrival() noexcept {
  const lock_type lock(mutex_);
  --arriving_;
}

// Ends a wait that no operation needs any more: it would keep the io_context running.
void listener_state::leave() noexcept {
  const lock_type lock(mutex_);
  if (is_watching_ && acceptor_ && waiting_.empty() && arriving_ == 0) acceptor_->stop_waiting();
}

void listener_state::put_back() noexcept {
  work_list woken;
  {
    const lock_type lock(mutex_);
    --granted_;
    if (acceptor_) {
      woken = serve();
    } else {
      taken_.back()->close(true);
      taken_.pop_back();
    }
  }
  wake_all(woken);
}

connection listener_state::take(wait_outcome o, scheduler* on) {
  if (o == wait_outcome::closed) {
    if (broken_) throw failure(broken_, "accept from " + name());
    throw failure(errc::cancelled, "accept from " + name() + ": the listener was closed");
  }
  if (!on) on = scheduler::current();
  if (!on) on = &scheduler_;
  std::unique_ptr<network_stream> stream;
  try {
    const lock_type lock(mutex_);
    taken_.front()->attach(*on);
    stream = std::move(taken_.front());
    taken_.erase(taken_.begin());
    --granted_;
  } catch (...) {
    put_back();
    throw;
  }
  return connection(std::move(stream));
}

// On the scheduler of the listener: a connection may be waiting, or the wait was stopped.
void listener_state::ready() noexcept {
  work_list woken;
  std::error_code broken;
  {
    const lock_type lock(mutex_);
    is_watching_ = false;
    if (!acceptor_) return;
    try {
      while (taken_.size() - granted_ < waiting_.size() && accept_one()) {
      }
    } catch (const std::bad_alloc&) {
      set_exhausted(asio_error_code(asio::error::no_memory));
    }
    broken = broken_;
    woken = serve();
    if (!broken) {
      try {
        if (exhausted_ && !waiting_.empty()) {
          next_pause_ = std::clamp(2 * next_pause_, shortest_pause, longest_pause);
          scheduler_.add_timer(pause_, scheduler_.now() + next_pause_);
          is_paused_ = true;
        } else if (!waiting_.empty() || arriving_ > 0) {
          acceptor_->wait(ready_);
          is_watching_ = true;
        }
      } catch (const std::bad_alloc&) {
        // Tries again in the next turn.
        is_watching_ = true;
        scheduler_.post(ready_);
      }
    }
  }
  wake_all(woken);
  if (broken) end(broken);
}

void listener_state::set_exhausted(std::error_code ec) {
  const time_point now = scheduler_.now();
  if (!exhausted_) exhausted_since_ = now;
  exhausted_ = ec;
  if (scheduler_.is_simulated()) return;
  if (reported_at_ != time_point::min() && now - reported_at_ < 1min) return;
  reported_at_ = now;
  print_stderr("leat: listener '%s': %s: clients wait until a connection can be accepted\n",
               name().c_str(), ec.message().c_str());
}

void listener_state::close() noexcept { end({}); }

void listener_state::end(std::error_code why) noexcept {
  work_list woken;
  {
    const lock_type lock(mutex_);
    if (!acceptor_) return;
    broken_ = why;
    acceptor_->close();
    acceptor_.reset();
    if (std::exchange(is_watching_, false)) static_cast<void>(scheduler_.withdraw(ready_));
    if (std::exchange(is_paused_, false)) scheduler_.cancel_timer(pause_);
    for (std::size_t i = granted_; i < taken_.size(); ++i) taken_[i]->close(true);
    taken_.resize(granted_);
    woken = end_all(wait_outcome::closed);
  }
  wake_all(woken);
}

bool listener_state::is_open() const {
  const lock_type lock(mutex_);
  return acceptor_ != nullptr;
}

listener_statistics listener_state::statistics() const {
  const lock_type lock(mutex_);
  listener_statistics s;
  s.accepted = accepted_;
  s.failed = failed_;
  s.backlog = acceptor_ ? acceptor_->backlog() : 0;
  s.exhausted = static_cast<bool>(exhausted_);
  return s;
}

void listener_state::append_state_to(std::string& text) const {
  if (!acceptor_) {
    text += " (closed)";
    return;
  }
  text += " (" + std::to_string(accepted_) + " accepted, " + std::to_string(acceptor_->backlog()) +
          " waiting";
  if (exhausted_) {
    text += "; " + exhausted_.message() + " since " +
            text_in_seconds(scheduler_.now() - exhausted_since_);
  }
  text += ')';
}

}  // namespace LEAT::detail
