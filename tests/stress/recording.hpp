#pragma once

// The parts that the headers recorded_*.hpp share. Each has primitives with their models. The type
// of a primitive chooses random operations and performs them in one of three forms: without a wait,
// blocking the thread, or in a task.

#include <type_traits>

#include "leat/async.hpp"
#include "leat/base/random.hpp"
#include "leat/sync/event.hpp"
#include "stress/recorder.hpp"
#include "stress/sync_history.hpp"

namespace recorded {

using leat::task;
using sync_model::ending;
using sync_model::kind;
using sync_model::operation;

// How a thread chooses its operations.
struct chooser {
  leat::random_engine& random;
  bool waits = false;  // operations may wait
  bool stops = false;  // threads may be stopped

  [[nodiscard]] std::size_t below(std::uint64_t n) const {
    return static_cast<std::size_t>(random.uniform_below(n));
  }
  [[nodiscard]] kind waiting_or(kind other, kind wait) const {
    return waits && below(4) != 0 ? wait : other;
  }
  [[nodiscard]] int value() const { return static_cast<int>(1 + below(1'000'000)); }
  // Operations that all primitives share; returns false for another one.
  [[nodiscard]] bool common(operation& o) const {
    const std::size_t which = below(16);
    if (which == 0) o.what = kind::state;
    if (which == 1) o.what = kind::waiting;
    if (which == 2 && stops) {
      o.what = kind::stop;
      o.thread = below(threads);
    }
    return which < 2 || (which == 2 && stops);
  }
};

inline void end_if(operation& o, bool done) { o.end = done ? ending::done : ending::nothing; }

// Awaits an operation, in a select if `selected`.
template <class Awaiter>
task<decltype(std::declval<Awaiter>().await_resume())> await(Awaiter a, bool selected) {
  if (!selected) co_return co_await std::move(a);
  leat::event never("never set");
  auto done = co_await leat::select(std::move(a), never.wait());
  if constexpr (!std::is_void_v<decltype(std::declval<Awaiter>().await_resume())>) {
    co_return std::get<0>(std::move(done));
  }
}

// The members that the recorded types have in common.
struct recorded_base {
  // If not 0, the operations that wait cannot be counted, and waiting() is missing.
  static constexpr int patience = 0;
  // An operation that a thread performs at its end; returns false if there is none.
  static bool choose_last(operation&) { return false; }
  // Whether the main thread may stop a thread to end a wait.
  static bool helps_by_stop(std::size_t) { return true; }
};

}  // namespace recorded
