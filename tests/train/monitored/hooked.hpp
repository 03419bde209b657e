#pragma once

#include <functional>

#include "leat/train/monitored/session_hook.hpp"
#include "train/supervised.hpp"

namespace leat_test {

/// A supervisor without services of its own, and a hook that is called between sessions and runs.
struct hooked {
  explicit hooked(learner& program, leat::session_hook& h)
      : l(program), sv(options(program)), hook(h) {}

  static leat::supervisor_options options(learner& program) {
    leat::supervisor_options o = program.options();
    o.save_model_interval = o.save_summaries_interval = leat::duration::zero();
    o.save_at_end = false;
    return o;
  }
  leat::task<> in_session(std::function<leat::task<>()> body) {
    const std::function<leat::task<>(leat::session&)> whole =
        [&](leat::session& s) -> leat::task<> {
      opened = &s;
      co_await body();
    };
    co_await sv.managed(whole);
  }
  /// Returns true if the hook requests a stop.
  leat::task<bool> create() {
    leat::run_context run(sv, *opened);
    co_await hook.after_create_session(run);
    co_return run.stop_requested();
  }
  leat::task<bool> run_at(std::int64_t step, leat::named_values results = leat::named_values()) {
    leat::run_context run(sv, *opened);
    co_await hook.before_run(run);
    l.step = step;
    run.results() = std::move(results);
    co_await hook.after_run(run);
    co_return run.stop_requested();
  }
  leat::task<> end() {
    leat::run_context run(sv, *opened);
    co_await hook.end(run);
  }

  learner& l;
  leat::supervisor sv;
  leat::session_hook& hook;
  leat::session* opened = nullptr;
};

}  // namespace leat_test
