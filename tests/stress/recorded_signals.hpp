#pragma once

// Events, notifications and watches: a sequential model of each, and a type whose operations are
// recorded for a history.

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <thread>
#include <tuple>
#include <utility>

#include "leat/async/task.hpp"
#include "leat/sync.hpp"
#include "stress/recording.hpp"

namespace sync_model {

class event : public model {
 public:
  struct rules {};
  struct state : progress {
    explicit state(const rules&) {}
    auto operator<=>(const state&) const = default;
    bool set = false;
  };
  event(const history& all, const rules&) : model(all) {}

  void begin(state& s, std::size_t who) const {
    switch (all_[who].what) {
      case kind::set:
        s.set = true;
        end_all(s, ending::done);
        return end(s, who, ending::done);
      case kind::reset: s.set = false; return end(s, who, ending::done);
      case kind::wait: s.set ? end(s, who, ending::done) : s.waiting.push_back(who); return;
      case kind::waiting: return end_number(s, who, s.waiting.size());
      default: return end_number(s, who, s.set ? 1 : 0);
    }
  }
  static void serve(state&) {}
  static void step(state&, std::size_t) {}
};

}  // namespace sync_model

namespace recorded {

class event : public recorded_base {
 public:
  using model = sync_model::event;
  static constexpr model::rules rules{};

  static void choose(operation& o, const chooser& c) {
    if (c.common(o)) return;
    const std::size_t which = c.below(8);
    o.what = which < 2 ? kind::set : which < 4 ? kind::reset : kind::wait;
    if (o.what == kind::wait) o.what = c.waiting_or(kind::state, kind::wait);
  }
  static bool help(operation& o, const chooser&, std::optional<std::size_t>) {
    o.what = kind::set;
    return true;
  }
  [[nodiscard]] std::size_t waiting() { return object_.waiting_count(); }
  void at_once(operation& o) {
    if (o.what == kind::set) object_.set();
    if (o.what == kind::reset) object_.reset();
    if (o.what == kind::state) o.number = object_.is_set() ? 1 : 0;
    if (o.what == kind::waiting) o.number = waiting();
  }
  void blocking(operation& o, const leat::wait_limit& limit) {
    o.what == kind::wait ? leat::block_on(object_.wait(), limit) : at_once(o);
  }
  task<> in_task(operation& o, bool selected) {
    if (o.what != kind::wait) co_return at_once(o);
    co_await await(object_.wait(), selected);
  }

 private:
  leat::event object_{"recorded"};
};

}  // namespace recorded

namespace sync_model {

// One set() is stored until an operation takes it.
class notification : public model {
 public:
  struct rules {};
  struct state : progress {
    explicit state(const rules&) {}
    auto operator<=>(const state&) const = default;
    bool stored = false;
  };
  notification(const history& all, const rules&) : model(all) {}

  void begin(state& s, std::size_t who) const {
    switch (all_[who].what) {
      case kind::set:
        s.stored = true;
        end(s, who, ending::done);
        return serve(s);
      case kind::try_wait:
        return end(s, who, std::exchange(s.stored, false) ? ending::done : ending::nothing);
      case kind::wait: s.waiting.push_back(who); return serve(s);
      default: return end_number(s, who, s.waiting.size());
    }
  }
  void serve(state& s) const {
    if (!s.stored || s.waiting.empty()) return;
    s.stored = false;
    end(s, s.waiting.front(), ending::done);
    s.waiting.erase(s.waiting.begin());
  }
  static void step(state&, std::size_t) {}
};

}  // namespace sync_model

namespace recorded {

class notification : public recorded_base {
 public:
  using model = sync_model::notification;
  static constexpr model::rules rules{};

  static void choose(operation& o, const chooser& c) {
    if (!c.common(o))
      o.what = c.below(2) == 0 ? kind::set : c.waiting_or(kind::try_wait, kind::wait);
    if (o.what == kind::state) o.what = kind::waiting;
  }
  static bool help(operation& o, const chooser&, std::optional<std::size_t>) {
    o.what = kind::set;
    return true;
  }
  [[nodiscard]] std::size_t waiting() { return object_.waiting_count(); }
  void at_once(operation& o) {
    if (o.what == kind::set) object_.notify();
    if (o.what == kind::try_wait) end_if(o, object_.try_wait());
    if (o.what == kind::waiting) o.number = waiting();
  }
  void blocking(operation& o, const leat::wait_limit& limit) {
    o.what == kind::wait ? leat::block_on(object_.wait(), limit) : at_once(o);
  }
  task<> in_task(operation& o, bool selected) {
    if (o.what != kind::wait) co_return at_once(o);
    co_await await(object_.wait(), selected);
  }

 private:
  leat::notification object_{"recorded"};
};

}  // namespace recorded

namespace sync_model {

class watch : public model {
 public:
  struct rules {};
  struct state : progress {
    explicit state(const rules&) {}
    auto operator<=>(const state&) const = default;
    int value = 0;
    std::uint64_t version = 0;
    bool closed = false;
  };
  watch(const history& all, const rules&) : model(all) {}

  void begin(state& s, std::size_t who) const {
    const operation& o = all_[who];
    switch (o.what) {
      case kind::set:
        if (s.closed) return end(s, who, ending::nothing);
        end(s, who, ending::done);
        return change(s, o.sent);
      case kind::modify:
        if (s.closed) return end(s, who, ending::nothing);
        end(s, who, ending::done, s.value);
        return change(s, s.value * 2 + o.sent);
      case kind::try_wait:
        return s.version == o.count ? end(s, who, ending::nothing) : step(s, who);
      case kind::wait:
        if (s.version != o.count) return wake(s, who);
        s.closed ? end(s, who, ending::nothing) : s.waiting.push_back(who);
        return;
      case kind::close:
        end_number(s, who, s.closed ? 0 : 1);
        s.closed = true;
        return end_all(s, ending::nothing);
      case kind::waiting: return end_number(s, who, s.waiting.size());
      default: return step(s, who);  // state
    }
  }
  static void serve(state&) {}
  void step(state& s, std::size_t who) const { end(s, who, ending::done, s.value, s.version); }

 private:
  void change(state& s, int value) const {
    s.value = value;
    ++s.version;
    serve_each(s, [&](std::size_t w) {
      if (all_[w].count == s.version) return false;
      wake(s, w);
      return true;
    });
  }
};

}  // namespace sync_model

namespace recorded {

class watch : public recorded_base {
 public:
  using model = sync_model::watch;
  static constexpr model::rules rules{};

  void choose(operation& o, const chooser& c) {
    o.sent = c.value();
    if (c.common(o)) return;
    const std::size_t which = c.below(16);
    if (which == 0) {
      o.what = kind::close;
    } else if (which < 6) {
      o.what = which % 2 == 0 ? kind::set : kind::modify;
    } else {
      o.what = c.waiting_or(kind::try_wait, kind::wait);
      o.count = seen_[o.thread];
    }
  }
  static bool help(operation& o, const chooser& c, std::optional<std::size_t>) {
    o.what = c.below(3) == 0 ? kind::close : kind::set;
    o.sent = c.value();
    return true;
  }
  [[nodiscard]] std::size_t waiting() { return object_.waiting_count(); }
  void at_once(operation& o) {
    switch (o.what) {
      case kind::set: return end_if(o, object_.set(o.sent));
      case kind::modify:
        return end_if(o, object_.modify([&o](int& value) {
          o.value = value;
          std::this_thread::yield();  // for a change by another thread
          value = value * 2 + o.sent;
        }));
      case kind::try_wait: return read(o, object_.try_changed(o.count));
      case kind::state: return read(o, object_.current());
      case kind::close: o.number = object_.close() ? 1 : 0; return;
      default: o.number = waiting();
    }
  }
  void blocking(operation& o, const leat::wait_limit& limit) {
    o.what == kind::wait ? read(o, leat::block_on(object_.changed(o.count), limit)) : at_once(o);
  }
  task<> in_task(operation& o, bool selected) {
    if (o.what != kind::wait) co_return at_once(o);
    const auto next = co_await await(object_.changed(o.count), selected);
    read(o, next);
  }

 private:
  using watched = leat::watch<int>;
  void read(operation& o, const std::optional<watched::state>& s) {
    end_if(o, s.has_value());
    if (!s) return;
    o.value = s->value;
    o.number = s->version;
    if (o.thread < threads) seen_[o.thread] = static_cast<std::size_t>(s->version);
  }

  watched object_{0, "recorded"};
  std::array<std::size_t, threads> seen_{};
};

using signals = std::tuple<event, notification, watch>;

}  // namespace recorded
