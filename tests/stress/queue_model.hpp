#pragma once

// A plain sequential model of a queue. It decides whether it can explain a history of real threads.
//
// An operation, a close or a stop takes effect at one moment between its call and its return. After
// each of them, the model serves the wait queues. It serves the pushes from the front until one has
// to wait, then the pops, and repeats this until nothing changes. A stopped operation leaves its
// wait queue at any later moment. An operation must have ended before it returns.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "queue/orders.hpp"

namespace queue_model {

// Also used for single items: a batch is atomic only as far as it does not wait.
enum class kind {
  try_push,
  push,
  try_pop_many,
  try_pop_up_to,
  pop_many,
  pop_up_to,
  size,
  close,
  close_and_cancel,
  stop
};

enum class ending {
  done,
  nothing,   // a push: closed or full; a pop: closed or too few items
  cancelled  // stopped, or a push that a close cancelled
};

struct operation {
  kind what = kind::size;
  std::size_t thread = 0;       // the caller; for a stop: its target
  std::vector<int> items = {};  // the items of a push, or the result of a pop
  std::size_t count = 1;        // of a pop
  std::uint64_t called = 0;     // by a clock that all threads share
  std::uint64_t returned = 0;
  ending end = ending::done;
  std::size_t moved = 0;  // items added; size: the size; close: 1 for the first close
};

using history = std::vector<operation>;

// For messages: one line for each operation, ordered by call.
inline std::string text_of(history all) {
  static constexpr const char* kinds[] = {
      "try_push",  "push", "try_pop_many", "try_pop_up_to",    "pop_many",
      "pop_up_to", "size", "close",        "close_and_cancel", "stop"};
  static constexpr const char* endings[] = {"done", "nothing", "cancelled"};
  std::sort(all.begin(), all.end(),
            [](const operation& a, const operation& b) { return a.called < b.called; });
  std::ostringstream out;
  for (const operation& o : all) {
    out << o.called << " to " << o.returned << ", thread " << o.thread << ": "
        << kinds[static_cast<int>(o.what)] << " {";
    for (const int i : o.items) out << ' ' << i;
    out << " } of " << o.count << ": " << endings[static_cast<int>(o.end)] << ", " << o.moved
        << '\n';
  }
  return std::move(out).str();
}

using queue_orders::next_item;

struct rules {
  next_item gives = next_item::oldest;
  std::size_t capacity = 2;
  std::size_t min_after_dequeue = 0;  // items kept back while the queue is open
};

class explanation {
 public:
  explanation(const history& all, const rules& r) : all_(all), rules_(r) {}

  [[nodiscard]] bool exists() const { return serve({}); }

 private:
  struct place {  // in a wait queue
    std::size_t who = 0;
    std::size_t moved = 0;       // items that a push has added
    std::vector<int> held = {};  // items that a pop holds
  };
  struct state {
    std::vector<int> items = {};
    std::vector<place> pushes = {};  // also a close, which follows earlier pushes
    std::vector<place> pops = {};
    bool closing = false;
    bool closed = false;
    bool pops_turn = false;   // the pops are served next
    bool freed = false;       // pops have made room since the pushes were served
    std::uint32_t begun = 0;  // one bit for each operation
    std::uint32_t ended = 0;
    std::uint32_t stopped = 0;  // one bit for each thread
  };

  static constexpr std::uint32_t bit(std::size_t i) { return std::uint32_t{1} << i; }
  [[nodiscard]] std::size_t floor(const state& s) const {
    return s.closed ? 0 : rules_.min_after_dequeue;
  }

  [[nodiscard]] bool ends(state& s, std::size_t who, ending end, std::size_t moved) const {
    s.ended |= bit(who);
    return all_[who].end == end && all_[who].moved == moved;
  }

  // ---- The wait queues.

  bool serve(state s) const {
    for (;;) {
      if (!s.pops_turn && !serve_pushes(s)) return false;
      s.pops_turn = true;
      while (!s.pops.empty()) {
        if (can_take(s)) {
          const std::vector<std::size_t> choice = next_items(s);
          if (choice.size() != 1) return serve_one_of(s, choice);
          take(s, choice.front());
        } else if (!can_end(s)) {
          break;
        } else if (!end_pop(s)) {
          return false;
        }
      }
      s.pops_turn = false;
      if (!std::exchange(s.freed, false)) break;
    }
    return at_rest(std::move(s));
  }

  bool serve_pushes(state& s) const {
    while (!s.pushes.empty()) {
      place& first = s.pushes.front();
      const operation& o = all_[first.who];
      if (o.what == kind::close) return close_now(s, ending::nothing);
      while (first.moved < o.items.size() && s.items.size() < rules_.capacity) {
        s.items.push_back(o.items[first.moved++]);
      }
      if (first.moved < o.items.size()) break;
      if (!ends(s, first.who, ending::done, first.moved)) return false;
      s.pushes.erase(s.pushes.begin());
    }
    return true;
  }

  bool close_now(state& s, ending for_pushes) const {
    s.closing = s.closed = true;
    for (const place& p : s.pushes) {
      if (all_[p.who].what != kind::close && !ends(s, p.who, for_pushes, p.moved)) return false;
    }
    s.pushes.clear();
    return true;
  }

  // Whether the first pop in the wait queue can take an item.
  [[nodiscard]] bool can_take(const state& s) const {
    const place& first = s.pops.front();
    const operation& o = all_[first.who];
    const std::size_t left = o.count - first.held.size();
    if (left == 0 || s.items.size() <= floor(s)) return false;
    const bool whole = rules_.gives == next_item::smallest;  // a pop holds no items
    const bool short_one_will_do = s.closed && o.what == kind::pop_up_to;
    return !whole || !first.held.empty() || short_one_will_do || s.items.size() >= left;
  }

  // The indices of the items that the first pop may take next; empty if its result excludes them
  // all.
  [[nodiscard]] std::vector<std::size_t> next_items(const state& s) const {
    const place& first = s.pops.front();
    const operation& o = all_[first.who];
    if (rules_.gives == next_item::any && o.end != ending::done) {  // it puts back any item
      std::vector<std::size_t> all(s.items.size());
      for (std::size_t i = 0; i < all.size(); ++i) all[i] = i;
      return all;
    }
    const std::size_t next = next_item(s, o, first.held.size());
    return next == s.items.size() ? std::vector<std::size_t>() : std::vector{next};
  }

  // The index of the item that becomes item `at` of the pop's result, or the number of items if the
  // queue lacks it.
  [[nodiscard]] std::size_t next_item(const state& s, const operation& o, std::size_t at) const {
    auto next = s.items.begin();
    if (rules_.gives == next_item::smallest)
      next = std::min_element(s.items.begin(), s.items.end());
    if (rules_.gives == next_item::any && at < o.items.size()) {
      next = std::find(s.items.begin(), s.items.end(), o.items[at]);
    }
    return static_cast<std::size_t>(next - s.items.begin());
  }

  bool serve_one_of(const state& s, const std::vector<std::size_t>& choice) const {
    return std::any_of(choice.begin(), choice.end(), [&](std::size_t i) {
      state next = s;
      take(next, i);
      return serve(std::move(next));
    });
  }

  static void take(state& s, std::size_t item) {
    const auto at = s.items.begin() + static_cast<std::ptrdiff_t>(item);
    s.pops.front().held.push_back(*at);
    s.items.erase(at);
    s.freed = true;
  }

  static void put_back(state& s, const place& p) {
    s.items.insert(s.items.begin(), p.held.begin(), p.held.end());
  }

  [[nodiscard]] bool can_end(const state& s) const {
    return s.closed || s.pops.front().held.size() == all_[s.pops.front().who].count;
  }

  bool end_pop(state& s) const {
    const place first = s.pops.front();
    const operation& o = all_[first.who];
    s.pops.erase(s.pops.begin());
    const bool suffices =
        first.held.size() == o.count || (o.what == kind::pop_up_to && !first.held.empty());
    if (suffices) return ends(s, first.who, ending::done, 0) && first.held == o.items;
    put_back(s, first);
    return ends(s, first.who, ending::nothing, 0);
  }

  // ---- The next step when no waiting operation can proceed. An operation may begin if its call
  // precedes the first return among the operations that have not ended.

  bool at_rest(state s) const {
    if (!s.pushes.empty() && all_[s.pushes.front().who].what == kind::try_push) {
      const place tried = s.pushes.front();
      s.pushes.erase(s.pushes.begin());
      if (!ends(s, tried.who, tried.moved == 0 ? ending::nothing : ending::done, tried.moved)) {
        return false;
      }
    }
    std::uint64_t first_return = UINT64_MAX;
    for (std::size_t i = 0; i < all_.size(); ++i) {
      if ((s.ended & bit(i)) == 0) first_return = std::min(first_return, all_[i].returned);
    }
    if (first_return == UINT64_MAX) return true;
    for (std::size_t i = 0; i < all_.size(); ++i) {
      if ((s.ended & bit(i)) != 0) continue;
      const bool waits = (s.begun & bit(i)) != 0;
      if (!waits && all_[i].called > first_return) continue;
      if (may_be_stopped(s, i) && stop(s, i)) return true;
      if (waits || was_stopped_before(i)) continue;
      state next = s;
      next.begun |= bit(i);
      if (begin(next, i) && serve(std::move(next))) return true;
    }
    return false;
  }

  [[nodiscard]] bool obeys_stops(std::size_t i) const {
    const kind what = all_[i].what;
    return what == kind::push || what == kind::pop_many || what == kind::pop_up_to;
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

  // Stops an operation in its wait queue, or before it enters one.
  bool stop(state s, std::size_t who) const {
    place left{who};
    for (std::vector<place>* line : {&s.pushes, &s.pops}) {
      const auto at =
          std::find_if(line->begin(), line->end(), [&](const place& p) { return p.who == who; });
      if (at == line->end()) continue;
      left = *at;
      line->erase(at);
    }
    put_back(s, left);
    return ends(s, who, ending::cancelled, left.moved) && serve(std::move(s));
  }

  bool begin(state& s, std::size_t who) const {
    const operation& o = all_[who];
    switch (o.what) {
      case kind::try_push:
        if (s.closed || !s.pushes.empty()) return ends(s, who, ending::nothing, 0);
        s.pushes.push_back({who});
        return true;
      case kind::push:
        if (s.closed) return ends(s, who, ending::nothing, 0);
        s.pushes.push_back({who});
        return true;
      case kind::try_pop_many:
      case kind::try_pop_up_to: return try_pop(s, who);
      case kind::pop_many:
      case kind::pop_up_to: s.pops.push_back({who}); return true;
      case kind::size: return ends(s, who, ending::done, s.items.size());
      case kind::close:
        if (s.closing) return ends(s, who, ending::done, 0);
        s.closing = true;
        s.pushes.push_back({who});
        return ends(s, who, ending::done, 1);
      case kind::close_and_cancel:
        return ends(s, who, ending::done, 0) && (s.closed || close_now(s, ending::cancelled));
      case kind::stop: s.stopped |= bit(o.thread); return ends(s, who, ending::done, 0);
    }
    return false;
  }

  bool try_pop(state& s, std::size_t who) const {
    const operation& o = all_[who];
    const std::size_t there = s.items.size() - std::min(s.items.size(), floor(s));
    const std::size_t taken = std::min(o.count, there);
    if (!s.pops.empty() || taken == 0 || (o.what == kind::try_pop_many && taken < o.count)) {
      return ends(s, who, ending::nothing, 0);
    }
    if (o.items.size() != taken) return false;
    for (std::size_t at = 0; at < taken; ++at) {
      const std::size_t next = next_item(s, o, at);
      if (next == s.items.size() || s.items[next] != o.items[at]) return false;
      s.items.erase(s.items.begin() + static_cast<std::ptrdiff_t>(next));
    }
    return ends(s, who, ending::done, 0);
  }

  const history& all_;
  const rules& rules_;
};

[[nodiscard]] inline bool explainable(const history& all, const rules& r) {
  return explanation(all, r).exists();
}

}  // namespace queue_model
