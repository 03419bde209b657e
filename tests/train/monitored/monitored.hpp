#pragma once

#include <functional>

#include "leat/train/monitored/monitored_session.hpp"
#include "leat/train/monitored/standard_hooks.hpp"
#include "train/supervised.hpp"

// A program in a monitored session, in a simulated world.

namespace leat_test {

/// A learner that also records its retries and the number of its sessions.
struct monitored_learner : learner {
  leat::monitored_session_options monitored(std::string logdir = "/run") {
    leat::monitored_session_options o;
    o.supervised = options(std::move(logdir));
    o.supervised.sessions.open = [this]() -> leat::task<leat::session> {
      ++created;
      ++open;
      co_return leat::session(nullptr, [this]() -> leat::task<> {
        --open;
        co_return;
      });
    };
    o.supervised.sessions.init = [this](leat::session&) -> leat::task<> {
      step = 0;
      weight = 1;
      co_return;
    };
    o.retry.on_retry = [this](std::size_t, std::exception_ptr, leat::duration d) {
      delays.push_back(d);
    };
    return o;
  }
  /// Returns a step that learns and returns the number of steps.
  std::function<leat::task<std::int64_t>()> learning() {
    return [this]() -> leat::task<std::int64_t> {
      learn();
      co_return step;
    };
  }

  int created = 0;
  int open = 0;
  std::vector<leat::duration> delays;
};

inline std::shared_ptr<leat::session_hook> hook_of(leat::function_hook_options o) {
  return std::make_shared<leat::function_hook>(std::move(o));
}

/// Returns a hook that fails once, before the given run.
inline std::shared_ptr<leat::session_hook> fails_once(int run, leat::errc code) {
  leat::function_hook_options o;
  o.before_run = [n = 0, run, code](leat::run_context&) mutable -> leat::task<> {
    if (++n == run) throw leat::failure(code, "a peer has gone");
    co_return;
  };
  return hook_of(std::move(o));
}

/// Runs the step until the session should stop.
inline leat::task<> run_to_the_end(leat::monitored_session& s,
                                   std::function<leat::task<std::int64_t>()> step) {
  while (!s.should_stop()) co_await s.run(step);
}

}  // namespace leat_test
