#include "train/supervisor/session_manager.hpp"

#include <algorithm>
#include <exception>
#include <utility>

#include "base/text/seconds_text.hpp"
#include "leat/async/scheduler/scheduler.hpp"
#include "leat/async/select.hpp"
#include "leat/async/sleep.hpp"
#include "leat/base/error.hpp"
#include "train/supervisor/internal/close_session.hpp"

namespace LEAT::detail {
namespace {

// A restore deletes what not all ranks have, so it must not run while it waits for other ranks.
void reject_rank_directories(const restore_source& source, const std::string& who) {
  if (!source.from || source.from->options().rank_directories.empty()) return;
  throw failure(errc::invalid_argument, "saver_options::rank_directories is set for " + who +
                                            ": set it only for the chief of a directory");
}

}  // namespace

session_manager::session_manager(session_manager_options options) : options_(std::move(options)) {
  if (options_.ready_for_local_init && !options_.local_init) {
    throw failure(errc::invalid_argument,
                  "If you pass a ready_for_local_init_op you must also pass a local_init_op: set "
                  "session_manager_options::local_init, or unset ready_for_local_init");
  }
  if (options_.recovery_wait <= duration::zero()) {
    throw failure(
        errc::invalid_argument,
        "session_manager_options::recovery_wait is not positive: set a positive duration");
  }
}

task<session> session_manager::open() const {
  if (options_.open) co_return co_await options_.open();
  co_return session();
}

// Returns true if the state comes from a checkpoint.
task<bool> session_manager::restore(const restore_source& source) const {
  if (!source.from) co_return false;
  if (source.wait_for_checkpoint)
    reject_rank_directories(source, "a restore that waits for a checkpoint");
  scheduler& sched = *scheduler::current();
  const time_point end = deadline_after(sched.now(), source.max_wait);
  for (;;) {
    const std::optional<std::string> path = co_await source.from->restore_latest();
    if (path && source.on_restored) source.on_restored(*path);
    if (path) co_return true;
    const time_point now = sched.now();
    if (!source.wait_for_checkpoint || now >= end) co_return false;
    const time_point next = std::min(end, deadline_after(now, options_.recovery_wait));
    co_await with_stop(sleep_until(next), source.stop);
  }
}

// Empty if it is ready.
task<std::string> session_manager::readiness_error(const check& ready, session& s) const {
  if (!ready) co_return std::string();
  std::string why;
  try {
    const std::vector<std::string> missing = co_await ready(s);
    for (const std::string& name : missing) {
      why += (why.empty() ? "Variables not initialized: " : ", ") + name;
    }
  } catch (const failure& e) {
    const std::string text = e.what();
    if (e.code() != errc::failed_precondition) throw;
    if (text.find("uninitialized") == std::string::npos) throw;
    why = text;
  }
  co_return why;
}

// Empty if it ran, or if there is nothing to run.
task<std::string> session_manager::try_local_init(session& s) const {
  if (!options_.local_init) co_return std::string();
  std::string why = co_await readiness_error(options_.ready_for_local_init, s);
  if (why.empty()) co_await options_.local_init(s);
  co_return why;
}

task<std::string> session_manager::make_ready(session& s) const {
  std::string why = co_await try_local_init(s);
  if (why.empty()) why = co_await readiness_error(options_.ready, s);
  co_return why;
}

task<void> session_manager::prepare(session& s, const restore_source& source) const {
  const bool restored = co_await restore(source);
  if (!restored) {
    if (options_.init) co_await options_.init(s);
    if (options_.init_fn) co_await options_.init_fn(s);
  }
  const std::string local_error = co_await try_local_init(s);
  if (!local_error.empty()) {
    throw failure(errc::failed_precondition,
                  "Init operations did not make model ready for local_init. " + local_error);
  }
  const std::string error_text = co_await readiness_error(options_.ready, s);
  if (!error_text.empty()) {
    throw failure(errc::failed_precondition,
                  "Init operations did not make model ready. " + error_text);
  }
}

task<session> session_manager::prepare_session(restore_source source) {
  session s = co_await open();
  std::exception_ptr error;
  try {
    co_await prepare(s, source);
  } catch (...) {
    error = std::current_exception();
  }
  if (error) {
    static_cast<void>(co_await close_session(s));  // the first error counts
    std::rethrow_exception(error);
  }
  co_return s;
}

task<session> session_manager::wait_for_session(time_span max_wait, restore_source source) {
  scheduler& sched = *scheduler::current();
  const time_point begin = sched.now();
  const time_point end = deadline_after(begin, max_wait);
  source.wait_for_checkpoint = false;
  reject_rank_directories(source, "a worker");
  for (;;) {
    session s = co_await open();
    std::exception_ptr error;
    std::string why;
    try {
      const bool restored = co_await restore(source);
      if (source.from && !restored) {
        why =
            "no checkpoint in '" + source.from->directory() + "': check that the chief is running";
      } else {
        why = co_await make_ready(s);
      }
    } catch (...) {
      error = std::current_exception();
    }
    if (!error && why.empty()) co_return s;
    static_cast<void>(co_await close_session(s));  // the first reason counts
    if (error) std::rethrow_exception(error);
    if (deadline_after(sched.now(), options_.recovery_wait) >= end) {
      throw failure(errc::deadline_exceeded,
                    "Session was not ready after waiting " + seconds_text(sched.now() - begin) +
                        " secs: the next attempt after a recovery_wait of " +
                        seconds_text(options_.recovery_wait) + " secs would exceed the limit of " +
                        seconds_text(max_wait) + " secs. " + why);
    }
    co_await with_stop(sleep_for(options_.recovery_wait), source.stop);
  }
}

}  // namespace LEAT::detail
