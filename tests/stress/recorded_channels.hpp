#pragma once

// Events, watches and channels whose operations are recorded for a history. Each type
// chooses random operations and performs them in one of three forms: without a wait, blocking the
// thread, or in a task.

#include <array>
#include <cstddef>
#include <optional>
#include <thread>
#include <utility>

#include "leat/async/task.hpp"
#include "leat/sync.hpp"
#include "stress/recording.hpp"
#include "stress/sync_models.hpp"

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
  [[nodiscard]] bool all_wait(std::size_t unfinished) {
    return object_.waiting_count() == unfinished;
  }
  void at_once(operation& o) {
    if (o.what == kind::set) object_.set();
    if (o.what == kind::reset) object_.reset();
    if (o.what == kind::state) o.number = object_.is_set() ? 1 : 0;
    if (o.what == kind::waiting) o.number = object_.waiting_count();
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
  [[nodiscard]] bool all_wait(std::size_t unfinished) {
    return object_.waiting_count() == unfinished;
  }
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
      default: o.number = object_.waiting_count();
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

template <leat::lag_policy Policy>
class broadcast : public recorded_base {
 public:
  using model = sync_model::broadcast;
  static constexpr model::rules rules{2, Policy == leat::lag_policy::wait};

  broadcast() {
    for (auto& r : receivers_) r = object_.subscribe();
  }

  void choose(operation& o, const chooser& c) {
    o.sent = c.value();
    if (c.common(o)) return;
    const bool has_receiver = receivers_[o.thread].has_value();
    const std::size_t which = c.below(24);
    if (which == 0) {
      o.what = kind::close;
    } else if (which < 3) {
      o.what = has_receiver ? kind::leave : kind::join;
    } else if (which < 14 && has_receiver) {
      o.what = c.waiting_or(kind::try_wait, kind::wait);
    } else {
      o.what = c.waiting_or(kind::try_send, kind::send);
    }
  }
  bool help(operation& o, const chooser& c, std::optional<std::size_t> idle) {
    o.sent = c.value();
    if (idle && receivers_[*idle] && c.below(3) != 0) {
      o.thread = *idle;
      o.what = c.below(3) == 0 ? kind::leave : kind::try_wait;
    } else {
      o.what = c.below(3) == 0 ? kind::close : kind::try_send;
    }
    return true;
  }
  [[nodiscard]] bool all_wait(std::size_t unfinished) {
    return object_.waiting_count() == unfinished;
  }
  void at_once(operation& o) {
    switch (o.what) {
      case kind::join: receivers_[o.thread] = object_.subscribe(); return;
      case kind::leave: receivers_[o.thread].reset(); return;
      case kind::try_wait: return read(o, receivers_[o.thread]->try_next());
      case kind::try_send: return end_if(o, object_.try_send(o.sent));
      case kind::state: o.number = object_.receiver_count(); return;
      case kind::close: o.number = object_.close() ? 1 : 0; return;
      default: o.number = object_.waiting_count();
    }
  }
  void blocking(operation& o, const leat::wait_limit& limit) {
    if (o.what == kind::wait) return read(o, leat::block_on(receivers_[o.thread]->next(), limit));
    o.what == kind::send ? end_if(o, leat::block_on(object_.send(o.sent), limit)) : at_once(o);
  }
  task<> in_task(operation& o, bool selected) {
    if (o.what == kind::send) {
      const bool sent = co_await object_.send(o.sent);
      end_if(o, sent);
    } else if (o.what == kind::wait) {
      const auto item = co_await await(receivers_[o.thread]->next(), selected);
      read(o, item);
    } else {
      at_once(o);
    }
  }

 private:
  using channel = leat::broadcast<int>;
  static void read(operation& o, const std::optional<channel::item>& i) {
    end_if(o, i.has_value());
    if (!i) return;
    o.value = i->value;
    o.number = i->missed;
  }

  channel object_{rules.capacity, Policy, "recorded"};
  std::array<std::optional<channel::receiver>, threads> receivers_;
};

class oneshot : public recorded_base {
 public:
  using model = sync_model::oneshot;
  static constexpr model::rules rules{};

  oneshot() {
    for (std::size_t i = 0; i < 2; ++i) {
      leat::oneshot<int> ends("recorded");
      senders_[i] = std::move(ends.tx);
      receivers_[i] = std::move(ends.rx);
    }
  }

  void choose(operation& o, const chooser& c) {
    const std::size_t i = o.thread / 2;
    const bool sends = o.thread % 2 == 0;
    const bool has_left = sends ? !senders_[i] : !receivers_[i];
    o.sent = c.value();
    if (has_left || (c.stops && c.below(4) == 0)) {
      o.what = kind::stop;
      o.thread = c.below(threads);
    } else if (c.below(4) == 0) {
      o.what = kind::leave;
    } else if (sends) {
      o.what = c.below(2) == 0   ? kind::try_send
               : c.below(2) == 0 ? kind::state
                                 : c.waiting_or(kind::try_send, kind::wait_until_closed);
    } else {
      o.what = c.waiting_or(kind::try_wait, kind::wait);
    }
  }
  // Each end leaves at last, so that the other one does not wait for it.
  bool choose_last(operation& o) {
    o.what = kind::leave;
    return o.thread % 2 == 0 ? bool(senders_[o.thread / 2]) : bool(receivers_[o.thread / 2]);
  }
  static bool help(operation&, const chooser&, std::optional<std::size_t>) { return false; }
  // The waits cannot be counted: after this time, the main thread stops a sender, which may wait
  // for a receiver that waits for it. A receive that is not woken makes the test hang.
  static constexpr int patience = 300;
  static bool helps_by_stop(std::size_t thread) { return thread % 2 == 0; }
  [[nodiscard]] static bool all_wait(std::size_t) { return true; }

  void at_once(operation& o) {
    const std::size_t i = o.thread / 2;
    switch (o.what) {
      case kind::leave:
        o.thread % 2 == 0 ? void(senders_[i] = {}) : void(receivers_[i] = {});
        return;
      case kind::try_send: return end_if(o, senders_[i].send(int{o.sent}));
      case kind::try_wait: return read(o, receivers_[i].try_receive());
      default: o.number = senders_[i].is_closed() ? 1 : 0;
    }
  }
  void blocking(operation& o, const leat::wait_limit& limit) {
    if (o.what == kind::wait_until_closed) o.what = kind::try_send;  // there is no such form
    o.what == kind::wait ? read(o, leat::block_on(receivers_[o.thread / 2].receive(), limit))
                         : at_once(o);
  }
  task<> in_task(operation& o, bool selected) {
    const std::size_t i = o.thread / 2;
    if (o.what == kind::wait_until_closed) {
      co_await senders_[i].closed();
    } else if (o.what == kind::wait) {
      const auto value = co_await await(receivers_[i].receive(), selected);
      read(o, value);
    } else {
      at_once(o);
    }
  }

 private:
  static void read(operation& o, const std::optional<int>& value) {
    end_if(o, value.has_value());
    o.value = value.value_or(0);
  }

  std::array<leat::oneshot<int>::sender, 2> senders_;
  std::array<leat::oneshot<int>::receiver, 2> receivers_;
};

}  // namespace recorded
