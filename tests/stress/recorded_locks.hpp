#pragma once

// Semaphores and locks: one sequential model for all of them, and types whose operations are
// recorded for a history.

#include <algorithm>
#include <array>
#include <compare>
#include <cstddef>
#include <optional>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "leat/async/task.hpp"
#include "leat/sync.hpp"
#include "stress/recording.hpp"

namespace sync_model {

// A semaphore. A mutex has one permit. A shared_mutex has many: a reader takes one, a writer all.
class permits : public model {
 public:
  struct rules {
    std::size_t free = 1;
    std::size_t maximum = 1;
  };
  struct state : progress {
    explicit state(const rules& r) : free(r.free) {}
    auto operator<=>(const state&) const = default;
    std::size_t free;
    bool closed = false;
  };
  permits(const history& all, const rules& r) : model(all), maximum_(r.maximum) {}

  void begin(state& s, std::size_t who) const {
    const operation& o = all_[who];
    switch (o.what) {
      case kind::try_acquire:
      case kind::acquire: return acquire(s, who);
      case kind::give_back:
        end(s, who, ending::done);
        s.free = std::min(maximum_, s.free + o.count);
        break;
      case kind::add:
        end_number(s, who, o.count <= maximum_ - s.free ? 1 : 0);
        s.free = std::min(maximum_, s.free + o.count);
        break;
      case kind::state: return end_number(s, who, s.free);
      case kind::waiting: return end_number(s, who, s.waiting.size());
      case kind::close:
        end_number(s, who, s.closed ? 0 : 1);
        s.closed = true;
        return end_all(s, ending::nothing);
      default: return end(s, who, ending::done);  // forget
    }
    serve(s);
  }

  void serve(state& s) const {
    while (!s.waiting.empty() && all_[s.waiting.front()].count <= s.free) {
      s.free -= all_[s.waiting.front()].count;
      end(s, s.waiting.front(), ending::done);
      s.waiting.erase(s.waiting.begin());
    }
  }
  static void step(state&, std::size_t) {}

 private:
  void acquire(state& s, std::size_t who) const {
    const operation& o = all_[who];
    if (!s.closed && s.waiting.empty() && o.count <= s.free) {
      s.free -= o.count;
      end(s, who, ending::done);
    } else if (s.closed || o.what == kind::try_acquire) {
      end(s, who, ending::nothing);
    } else {
      s.waiting.push_back(who);
    }
  }

  std::size_t maximum_;
};

}  // namespace sync_model

namespace recorded {

struct of_semaphore {
  using guard = leat::semaphore::guard;
  static constexpr sync_model::permits::rules rules{2, 3};
  static std::size_t any_count(const chooser& c) { return 1 + c.below(3); }
  guard try_take(std::size_t n) { return object.try_acquire(n); }
  guard wait_take(std::size_t n, const leat::wait_limit& l) {
    return leat::block_on(object.acquire(n), l);
  }
  task<guard> take(std::size_t n, bool selected) { return await(object.acquire(n), selected); }
  std::size_t free() { return object.available(); }

  leat::semaphore object{rules.free, rules.maximum, "recorded"};
};

struct of_mutex {
  using guard = leat::mutex::guard;
  static constexpr sync_model::permits::rules rules{1, 1};
  static std::size_t any_count(const chooser&) { return 1; }
  guard try_take(std::size_t) { return object.try_lock(); }
  guard wait_take(std::size_t, const leat::wait_limit& l) {
    return leat::block_on(object.lock(), l);
  }
  task<guard> take(std::size_t, bool selected) { return await(object.lock(), selected); }
  std::size_t free() { return object.is_locked() ? 0 : 1; }

  leat::mutex object{"recorded"};
};

struct of_shared_mutex {
  struct guard {
    leat::shared_mutex::guard exclusive;
    leat::shared_mutex::shared_guard shared;
    explicit operator bool() const noexcept { return exclusive || shared; }
  };
  static constexpr std::size_t all = 1000;  // more than there are readers
  static constexpr sync_model::permits::rules rules{all, all};
  static std::size_t any_count(const chooser& c) { return c.below(3) == 0 ? all : 1; }
  guard try_take(std::size_t n) {
    guard g;
    n == all ? void(g.exclusive = object.try_lock()) : void(g.shared = object.try_lock_shared());
    return g;
  }
  guard wait_take(std::size_t n, const leat::wait_limit& l) {
    guard g;
    n == all ? void(g.exclusive = leat::block_on(object.lock(), l))
             : void(g.shared = leat::block_on(object.lock_shared(), l));
    return g;
  }
  task<guard> take(std::size_t n, bool selected) {
    guard g;
    if (n == all) {
      g.exclusive = co_await await(object.lock(), selected);
    } else {
      g.shared = co_await await(object.lock_shared(), selected);
    }
    co_return g;
  }
  leat::shared_mutex object{"recorded"};
};

template <class Of>
class permits : public recorded_base {
 public:
  using model = sync_model::permits;
  static constexpr sync_model::permits::rules rules = Of::rules;
  static constexpr bool closes = std::is_same_v<Of, of_semaphore>;

  void choose(operation& o, const chooser& c) {
    const bool holds = !held_[o.thread].empty();
    if (c.common(o)) {
      if (o.what == kind::state && !requires(Of& p) { p.free(); }) o.what = kind::waiting;
    } else if (const std::size_t which = c.below(16); which < 2 && closes) {
      o.what = which == 0 && c.below(2) == 0 ? kind::close : kind::add;
      o.count = 1 + c.below(2);
    } else if (which < 8 && holds) {
      o.what = which == 7 && closes ? kind::forget : kind::give_back;
      o.count = held_[o.thread].front().count;
    } else {
      o.what = c.waiting_or(kind::try_acquire, kind::acquire);
      o.count = Of::any_count(c);
    }
  }
  // An operation that ends some wait when no thread can proceed. `idle`: a thread that has ended.
  bool help(operation& o, const chooser& c, std::optional<std::size_t> idle) {
    if (idle && !held_[*idle].empty() && c.below(4) != 0) {
      o = {.what = kind::give_back, .thread = *idle, .count = held_[*idle].front().count};
      return true;
    }
    o.what = c.below(3) == 0 ? kind::close : kind::add;
    return closes;
  }
  [[nodiscard]] std::size_t waiting() { return of_.object.waiting_count(); }

  void at_once(operation& o) {
    switch (o.what) {
      case kind::try_acquire: return keep(o, of_.try_take(o.count));
      case kind::give_back: return drop(o);
      case kind::waiting: o.number = waiting(); return;
      case kind::state:
        if constexpr (requires { of_.free(); }) o.number = of_.free();
        return;
      default: break;
    }
    if constexpr (closes) {
      if (o.what == kind::forget) return held_[o.thread].front().guard.forget(), drop(o);
      if (o.what == kind::add) o.number = of_.object.release(o.count) ? 1 : 0;
      if (o.what == kind::close) o.number = of_.object.close() ? 1 : 0;
    }
  }
  void blocking(operation& o, const leat::wait_limit& limit) {
    o.what == kind::acquire ? keep(o, of_.wait_take(o.count, limit)) : at_once(o);
  }
  task<> in_task(operation& o, bool selected) {
    if (o.what != kind::acquire) co_return at_once(o);
    typename Of::guard g = co_await of_.take(o.count, selected);
    keep(o, std::move(g));
  }

 private:
  struct held {
    typename Of::guard guard;
    std::size_t count;
  };
  void keep(operation& o, typename Of::guard g) {
    end_if(o, static_cast<bool>(g));
    if (g) held_[o.thread].push_back({std::move(g), o.count});
  }
  void drop(const operation& o) { held_[o.thread].erase(held_[o.thread].begin()); }

  Of of_;
  std::array<std::vector<held>, threads> held_;
};

using semaphore = permits<of_semaphore>;
using mutex = permits<of_mutex>;
using shared_mutex = permits<of_shared_mutex>;
using locks = std::tuple<semaphore, mutex, shared_mutex>;

}  // namespace recorded
