#include "leat/coordination/coordinator.hpp"

#include <algorithm>
#include <atomic>
#include <iterator>
#include <new>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "async/internal/live_tasks_text.hpp"
#include "async/internal/scope_error.hpp"
#include "base/internal/error_text.hpp"
#include "base/internal/standard_error.hpp"
#include "base/internal/thread_not_started.hpp"
#include "coordination/root_cause.hpp"
#include "leat/async/internal/thread_record.hpp"
#include "leat/async/this_task.hpp"
#include "leat/base/error.hpp"

namespace LEAT {

// A stop has two stages. request_stop() decides under state_mutex_ whose error counts, and only
// then sets the flag of the scope, without the lock: stop callbacks are user code and may call the
// coordinator. A request that is not the first one therefore records its error as a secondary one,
// even if the flag is not set yet.
//
// Lock order: state_mutex_, then the lock of the scope.

// A thread that join() waits for; every live one is held in the scope.
struct coordinator::thread_entry {
  thread_entry(task_id id, std::string name, std::stop_source own_stop)
      : record(std::in_place, id, std::move(name), own_stop.stop_possible()),
        stop(std::move(own_stop)) {}

  std::optional<detail::thread_record> record;  // until it ends
  std::stop_source stop;                        // of a thread that was started elsewhere
  std::atomic<bool> ended{false};
  std::jthread thread;  // last: it uses the others
};

coordinator::coordinator(coordinator_options options)
    : task_scope("coordinator", options.name, scheduler::current_task()),
      clean_errors_(options.clean_stop_errors) {
  on_stop_.emplace(get_stop_token(), stop_forwarder{this});
}

coordinator::coordinator(std::string_view name)
    : coordinator(coordinator_options{.name = std::string(name)}) {}

coordinator::~coordinator() {
  // Here, while tasks can still report how they end. Threads are not tasks: they are joined below.
  if (live_tasks() != 0) [[unlikely]]
    detail::scope_destroyed(*this);
  // The threads' own destructors join, so a stop of all threads is requested first.
  if (!is_idle()) request_scope_stop();
  on_stop_.reset();
  {
    // Declared before the lock, and so destroyed after it: a thread that ends takes the lock.
    std::vector<std::unique_ptr<thread_entry>> threads;  // joined outside of the lock
    const detail::thread_lock lock(state_mutex_);
    threads.swap(threads_);
  }
  report_unread_errors();
}

bool coordinator::is_clean(const std::exception_ptr& error) const noexcept {
  return detail::has_any_code(error, clean_errors_);
}

// ---------------------------------------------------------------------------- tasks and threads

void coordinator::spawn(task<void> t, std::string_view name, std::source_location where) {
  scheduler* s = scheduler::current();
  LEAT_ASSERT(s != nullptr, "coordinator::spawn() outside a scheduler: use spawn_on()");
  spawn_on(*s, std::move(t), name, where);
}

void coordinator::task_failed(std::exception_ptr error) noexcept { thread_ended(std::move(error)); }

// After a stop, a cancelled wait is the requested result.
bool coordinator::was_stopped(const std::exception_ptr& error) const noexcept {
  return stop_requested() && to_error_code(error) == errc::cancelled;
}

void coordinator::body_failed(std::exception_ptr error) {
  if (!was_stopped(error)) request_stop(detail::root_cause(error));
}

task<bool> coordinator::stop_on_exception(task<void> body) {
  std::exception_ptr error;
  try {
    co_await std::move(body);
  } catch (...) {
    error = std::current_exception();
  }
  if (error) body_failed(error);
  co_return !error;
}

void coordinator::thread_ended(std::exception_ptr error) noexcept {
  if (!error || was_stopped(error)) return;
  error = detail::root_cause(error);
  try {
    request_stop(error);
  } catch (...) {  // joined already: no caller is left to receive it, but it is kept
    const detail::thread_lock lock(state_mutex_);
    add_secondary(std::move(error));
  }
}

// Several tasks may have thrown the same failure, such as the cause of a failed queue.
void coordinator::add_secondary(std::exception_ptr error) {
  if (error == error_) return;
  if (std::find(secondary_.begin(), secondary_.end(), error) != secondary_.end()) return;
  secondary_.push_back(std::move(error));
  secondary_read_ = false;
}

// No error is lost silently: errors that the program has not read are printed at the end.
void coordinator::report_unread_errors() noexcept {
  std::exception_ptr first;
  std::vector<std::exception_ptr> unread;
  {
    const detail::thread_lock lock(state_mutex_);
    if (!error_read_) first = error_;
    error_read_ = true;
    if (!secondary_read_) unread.swap(secondary_);
  }
  // A scheduler that is destroyed cancels its tasks.
  if (first && to_error_code(first) != errc::cancelled) {
    detail::print_scope_error("coordinator", name(), "unreported error", first);
  }
  for (const std::exception_ptr& error : unread) {
    detail::print_scope_error("coordinator", name(), "unreported secondary error", error);
  }
}

void coordinator::start_thread(std::string name, std::function<void(std::stop_token)> body) {
  if (!body) {
    throw failure(errc::invalid_argument,
                  "thread '" + name + "' has no function: pass one to start_thread()");
  }
  start_entry(std::move(name), std::stop_source(std::nostopstate), std::move(body));
}

void coordinator::register_thread(std::jthread thread, std::string name) {
  const std::stop_source stop = thread.get_stop_source();
  auto shared = std::make_shared<std::jthread>(std::move(thread));
  start_entry(std::move(name), stop, [shared](const std::stop_token&) {
    if (shared->joinable()) shared->join();
  });
}

void coordinator::start_entry(std::string name, std::stop_source stop,
                              std::function<void(std::stop_token)> body) {
  add_thread(std::move(name), std::move(stop), std::move(body));
  // The stop callbacks ran before the thread was in the list, or they have found it there.
  if (stop_requested()) stop_threads();
}

namespace {

std::string title_of(const coordinator& c) {
  return c.name().empty() ? "coordinator" : "coordinator '" + std::string(c.name()) + "'";
}

}  // namespace

failure coordinator::not_started(const std::string& thread, std::error_code code) const {
  return {code, detail::thread_not_started(title_of(*this) + ": thread '" + thread + "'")};
}

void coordinator::add_thread(std::string name, std::stop_source stop,
                             std::function<void(std::stop_token)> body) {
  const std::string title = name;
  auto entry = std::make_unique<thread_entry>(next_id(), std::move(name), std::move(stop));
  thread_entry& e = *entry;
  add_hold();
  std::vector<std::unique_ptr<thread_entry>> ended;  // joined outside of the lock
  try {
    const detail::thread_lock lock(state_mutex_);
    ended.reserve(threads_.size());
    const auto dead = std::partition(threads_.begin(), threads_.end(),
                                     [](const auto& t) { return !t->ended.load(); });
    std::move(dead, threads_.end(), std::back_inserter(ended));
    threads_.erase(dead, threads_.end());
    threads_.push_back(std::move(entry));
    try {
      e.thread = std::jthread([this, &e, token = get_stop_token(), body = std::move(body)] {
        std::exception_ptr error;
        try {
          const detail::thread_record::current here(*e.record, token);
          body(token);
        } catch (...) {
          error = std::current_exception();
        }
        e.record.reset();
        // Errors of waits that its stop has ended, even if the stop has been cleared since.
        if (token.stop_requested() && to_error_code(error) == errc::cancelled) error = nullptr;
        // Before remove_hold(): join() reads the error as soon as the scope is idle.
        thread_ended(std::move(error));
        e.ended = true;
        remove_hold();
      });
    } catch (const std::system_error& error) {
      threads_.pop_back();
      throw not_started(title, error.code());
    } catch (...) {
      threads_.pop_back();
      throw;
    }
  } catch (...) {
    remove_hold();
    throw;
  }
}

// ------------------------------------------------------------------------------------------- stop

void coordinator::request_stop(std::exception_ptr error) {
  const bool is_clean_error = error && is_clean(error);
  std::exception_ptr clean_error;
  if (is_clean_error) clean_error = std::exchange(error, nullptr);
  {
    const detail::thread_lock lock(state_mutex_);
    if (joined_ && error) std::rethrow_exception(error);
    if (stop_decided_) {
      if (error) add_secondary(std::move(error));
      return;
    }
    stop_decided_ = true;
    clean_error_ = std::move(clean_error);
    error_ = std::move(error);
    error_read_ = false;
  }
  request_scope_stop();
}

// Threads that were started elsewhere have a stop of their own. Its callbacks are user code and may
// call the coordinator, so the request is made without the lock, and the list may change meanwhile.
void coordinator::stop_threads() noexcept {
  const auto may_be_stopped = [](const std::unique_ptr<thread_entry>& t) {
    return t->stop.stop_possible() && !t->stop.stop_requested();
  };
  for (;;) {
    std::stop_source stop(std::nostopstate);
    {
      const detail::thread_lock lock(state_mutex_);
      const auto next = std::find_if(threads_.begin(), threads_.end(), may_be_stopped);
      if (next == threads_.end()) return;
      stop = (*next)->stop;
    }
    stop.request_stop();
  }
}

task<bool> coordinator::wait_for_stop(time_span limit, std::source_location where) {
  scheduler& sched = this_task::get_scheduler();
  if (should_stop()) co_return true;
  try {
    co_await wait_until(stopped, deadline_after(sched.now(), limit), where);
  } catch (const failure&) {
    if (!should_stop()) throw;
  }
  co_return should_stop();
}

bool coordinator::stopped_by_clean_error() const noexcept {
  const detail::thread_lock lock(state_mutex_);
  return clean_error_ != nullptr;
}

void coordinator::clear_stop() {
  report_unread_errors();
  {
    const detail::thread_lock lock(state_mutex_);
    joined_ = false;
    stop_decided_ = false;
    clean_error_ = nullptr;
    error_ = nullptr;
    secondary_.clear();
  }
  // Removed first, because reset_stop() requests the stop of the source that it replaces. The new
  // source needs a new callback.
  on_stop_.reset();
  reset_stop();
  on_stop_.emplace(get_stop_token(), stop_forwarder{this});
}

// ------------------------------------------------------------------------------------------- join

namespace {

time_point end_of_grace(const join_options& options, time_point now) {
  return deadline_after(now, std::max<duration>(options.grace, duration::zero()));
}

}  // namespace

task<void> coordinator::join(join_options options, std::source_location where) {
  return join(options, options.stragglers == straggler_policy::wait, where);
}

task<void> detail::join_all(coordinator& c, join_options options, std::source_location where) {
  if (options.stragglers == straggler_policy::fail) options.stragglers = straggler_policy::wait;
  return c.join(options, true, where);
}

task<void> coordinator::join(join_options options, bool waits, std::source_location where) {
  check_joining_thread();
  scheduler& sched = this_task::get_scheduler();
  const time_point stop_at = deadline_after(sched.now(), options.stop_after);
  bool in_time = false;
  try {
    in_time = co_await wait_until(idle | stopped, stop_at, where);
  } catch (const std::bad_alloc&) {  // no memory for the timer: join() must keep its limit
  }
  if (!in_time) request_stop();
  bool all_ended = in_time && is_idle();
  std::exception_ptr late;
  if (!all_ended) {
    try {
      all_ended = co_await wait_until(idle, end_of_grace(options, sched.now()), where);
      if (!all_ended) late = find_stragglers(options);
    } catch (...) {
      late = std::current_exception();  // no memory for the timer or the message
    }
    if (waits) co_await wait_until(idle, no_deadline, where);
  }
  finish_join(std::move(late));
}

// Returns an error that names the stragglers after the grace period, or null if there are none or
// they are ignored.
std::exception_ptr coordinator::find_stragglers(const join_options& options) const {
  std::string who = detail::describe_live_tasks(*this);
  if (who.empty()) return nullptr;  // they ended while they were queried
  who.pop_back();                   // the end of the last line
  const std::string text =
      title_of(*this) + ": tasks or threads still running after the grace period:\n" + who;
  if (options.stragglers != straggler_policy::fail) {
    detail::print_stderr("leat: %s\n", text.c_str());
    std::exception_ptr first;
    {
      const detail::thread_lock lock(state_mutex_);
      first = error_;
    }
    if (first)
      detail::print_scope_error("coordinator", name(), "first error, which join() will throw",
                                first);
  }
  if (options.stragglers == straggler_policy::report) return nullptr;
  return std::make_exception_ptr(stragglers_error(errc::deadline_exceeded, text));
}

void coordinator::finish_join(std::exception_ptr late) {
  std::exception_ptr error;
  {
    const detail::thread_lock lock(state_mutex_);
    joined_ = true;
    error = error_ ? error_ : late;
    error_read_ = true;
    if (error_ && late) add_secondary(late);
  }
  if (error) std::rethrow_exception(error);
}

bool coordinator::joined() const noexcept {
  const detail::thread_lock lock(state_mutex_);
  return joined_;
}

void coordinator::raise_requested_exception() const {
  std::exception_ptr error;
  {
    const detail::thread_lock lock(state_mutex_);
    error = error_;
    error_read_ = true;
  }
  if (error) std::rethrow_exception(error);
}

std::vector<std::exception_ptr> coordinator::secondary_errors() const {
  const detail::thread_lock lock(state_mutex_);
  secondary_read_ = true;
  return secondary_;
}

void coordinator::add_secondary_error(std::exception_ptr error) {
  const detail::thread_lock lock(state_mutex_);
  add_secondary(std::move(error));
}

// The coordinator has not thrown: it was stopped without an error, or by a clean one.
void detail::missing_result::raise(coordinator& coord, const std::exception_ptr& body_error) {
  std::string message = "with_coordinator(): stopped before its body had returned a result";
  const bool was_stopped = !body_error || coord.was_stopped(body_error);
  const std::exception_ptr error = was_stopped ? nullptr : root_cause(body_error);
  {
    const thread_lock lock(coord.state_mutex_);
    if (error) std::erase(coord.secondary_, error);
    if (coord.clean_error_) message += ", after \"" + error_message(coord.clean_error_) + "\"";
  }
  if (error) std::rethrow_exception(error);
  throw failure(errc::cancelled, message);
}

}  // namespace LEAT
