#pragma once

// Histories of operations on a primitive, and the search for an order that explains one. The
// sequential models of the primitives are in the headers recorded_*.hpp.
//
// An operation or a stop takes effect at one moment between its call and its return. After each of
// them, the model serves the operations that wait. Some operations take effect in steps:
//
// - An operation that waits for something to read is woken when there is something, and reads at a
//   later moment. A stop does not end it after it was woken.
// - A receiver of a broadcast that leaves removes the values that it alone had not read one by one.
//
// A stopped operation leaves the wait queue at any moment after the stop.

#include <algorithm>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

namespace sync_model {

enum class kind {
  try_acquire,  // permits or a lock; `count`: permits
  acquire,
  give_back,  // a guard
  forget,
  add,  // permits without a guard; `number` of the result: 1 if all fit
  set,
  reset,
  modify,    // `value` of the result: the value before
  try_wait,  // reads what is there; for a watch, `count` is the version seen
  wait,
  join,  // a receiver of a broadcast
  leave,
  try_send,
  send,
  wait_until_closed,  // the sender of a oneshot
  state,              // `number`: free permits, whether an event is set, the number of receivers
  waiting,            // `number`: the operations that wait
  close,              // `number`: 1 for the first close
  stop
};

enum class ending { done, nothing, cancelled };

struct operation {
  kind what = kind::state;
  std::size_t thread = 0;    // the caller; for a stop: its target
  std::size_t count = 1;     // the request
  int sent = 0;              // the value that is stored
  std::uint64_t called = 0;  // by a clock that all threads share
  std::uint64_t returned = 0;
  ending end = ending::done;
  int value = 0;  // of the result
  std::uint64_t number = 0;
};

using history = std::vector<operation>;

// For messages: one line for each operation, ordered by call.
inline std::string text_of(history all) {
  static constexpr const char* kinds[] = {
      "try_acquire", "acquire",  "give_back", "forget", "add",   "set",      "reset",
      "modify",      "try_wait", "wait",      "join",   "leave", "try_send", "send",
      "closed",      "state",    "count",     "close",  "stop"};
  static constexpr const char* endings[] = {"done", "nothing", "cancelled"};
  std::sort(all.begin(), all.end(),
            [](const operation& a, const operation& b) { return a.called < b.called; });
  std::ostringstream out;
  for (const operation& o : all) {
    out << o.called << " to " << o.returned << ", thread " << o.thread << ": "
        << kinds[static_cast<int>(o.what)] << ' ' << o.count << ", " << o.sent << ": "
        << endings[static_cast<int>(o.end)] << ", " << o.value << ", " << o.number << '\n';
  }
  return std::move(out).str();
}

// The part of a state that all primitives share.
struct progress {
  auto operator<=>(const progress&) const = default;
  std::vector<std::size_t> waiting = {};
  std::uint32_t begun = 0;  // one bit for each operation
  std::uint32_t woken = 0;  // begun, no longer waiting, and further steps follow
  std::uint32_t ended = 0;
  std::uint32_t stopped = 0;  // one bit for each thread
  bool wrong = false;         // a result differs from that of the history
};

constexpr std::uint32_t bit(std::size_t i) { return std::uint32_t{1} << i; }

// The base of the models. Each defines begin(), serve() and, for operations with further steps,
// step().
class model {
 public:
  explicit model(const history& all) : all_(all) {}

 protected:
  // An operation has ended with this result.
  void end(progress& s, std::size_t who, ending e, int value = 0, std::uint64_t number = 0) const {
    const operation& o = all_[who];
    s.ended |= bit(who);
    s.woken &= ~bit(who);
    s.wrong |= o.end != e || (e == ending::done && (o.value != value || o.number != number));
  }
  void end_number(progress& s, std::size_t who, std::uint64_t number) const {
    end(s, who, ending::done, 0, number);
  }
  void end_all(progress& s, ending e) const {
    for (const std::size_t w : std::exchange(s.waiting, {})) end(s, w, e);
  }
  static void wake(progress& s, std::size_t who) { s.woken |= bit(who); }

  // Calls `served` for the waiting operations in their order and removes those for which it returns
  // true.
  template <class Served>
  static void serve_each(progress& s, Served served) {
    for (std::size_t i = 0; i < s.waiting.size();) {
      if (!served(s.waiting[i])) {
        ++i;
        continue;
      }
      s.waiting.erase(s.waiting.begin() + static_cast<std::ptrdiff_t>(i));
    }
  }

  const history& all_;
};

// ---- The search for an order. An operation may begin if its call precedes the first return among
// the operations that have not ended.

template <class Model>
class explanation {
 public:
  explanation(const history& all, const typename Model::rules& r)
      : all_(all), rules_(r), model_(all, r) {}

  [[nodiscard]] bool exists() const { return continues(state(rules_)); }

 private:
  using state = typename Model::state;

  [[nodiscard]] bool continues(const state& s) const {
    if (s.wrong) return false;
    std::uint64_t first_return = UINT64_MAX;
    for (std::size_t i = 0; i < all_.size(); ++i) {
      if ((s.ended & bit(i)) == 0) first_return = std::min(first_return, all_[i].returned);
    }
    if (first_return == UINT64_MAX) return true;
    if (failed_.contains(s)) return false;
    for (std::size_t i = 0; i < all_.size(); ++i) {
      if ((s.ended & bit(i)) == 0 && continues_with(s, i, first_return)) return true;
    }
    failed_.insert(s);
    return false;
  }

  [[nodiscard]] bool continues_with(const state& s, std::size_t i,
                                    std::uint64_t first_return) const {
    state next = s;
    if ((s.woken & bit(i)) != 0) {
      model_.step(next, i);
      return continues(next);
    }
    const bool waits = (s.begun & bit(i)) != 0;
    if (!waits && all_[i].called > first_return) return false;
    if (may_be_stopped(s, i) && stops(s, i)) return true;
    if (waits || was_stopped_before(i)) return false;
    next.begun |= bit(i);
    if (all_[i].what == kind::stop) {
      next.stopped |= bit(all_[i].thread);
      next.ended |= bit(i);
    } else {
      model_.begin(next, i);
    }
    return continues(next);
  }

  [[nodiscard]] bool obeys_stops(std::size_t i) const {
    const kind what = all_[i].what;
    return what == kind::acquire || what == kind::wait || what == kind::send ||
           what == kind::wait_until_closed;
  }
  // No operation of a thread begins to wait after a stop of that thread has returned.
  [[nodiscard]] bool was_stopped_before(std::size_t i) const {
    return obeys_stops(i) && std::any_of(all_.begin(), all_.end(), [&](const operation& o) {
             return o.what == kind::stop && o.thread == all_[i].thread &&
                    o.returned < all_[i].called;
           });
  }
  [[nodiscard]] bool may_be_stopped(const state& s, std::size_t i) const {
    return obeys_stops(i) && all_[i].end == ending::cancelled &&
           (s.stopped & bit(all_[i].thread)) != 0;
  }
  // Stops an operation that waits, or before it begins.
  [[nodiscard]] bool stops(state s, std::size_t i) const {
    std::erase(s.waiting, i);
    s.ended |= bit(i);
    model_.serve(s);
    return continues(s);
  }

  const history& all_;
  typename Model::rules rules_;
  Model model_;
  mutable std::set<state> failed_;  // no order continues from these
};

template <class Model>
[[nodiscard]] bool explainable(const history& all, const typename Model::rules& r = {}) {
  return explanation<Model>(all, r).exists();
}

}  // namespace sync_model
