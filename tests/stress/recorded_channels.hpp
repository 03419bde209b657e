#pragma once

// Broadcasts and oneshots: a sequential model of each, and a type whose operations are recorded for
// a history.

#include <algorithm>
#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "leat/async/task.hpp"
#include "leat/sync.hpp"
#include "stress/recording.hpp"

namespace sync_model {

// Each thread has at most one receiver; the first threads have one from the beginning.
class broadcast : public model {
 public:
  static constexpr std::size_t threads = 4;
  struct rules {
    std::size_t capacity = 2;
    bool waits = false;  // lag_policy::wait
  };
  struct stored {
    auto operator<=>(const stored&) const = default;
    int value = 0;
    std::size_t unread = 0;  // the receivers that have not read it
  };
  struct state : progress {
    explicit state(const rules&) { next.fill(0); }
    auto operator<=>(const state&) const = default;
    std::array<std::optional<std::uint64_t>, threads> next;  // of each receiver
    std::vector<stored> values = {};
    std::uint64_t begin = 0;  // the number of the first of them
    bool closed = false;
    [[nodiscard]] std::uint64_t end() const { return begin + values.size(); }
    [[nodiscard]] std::size_t receivers() const {
      return static_cast<std::size_t>(
          std::count_if(next.begin(), next.end(), [](const auto& n) { return n.has_value(); }));
    }
  };
  broadcast(const history& all, const rules& r) : model(all), rules_(r) {}

  void begin(state& s, std::size_t who) const {
    const operation& o = all_[who];
    switch (o.what) {
      case kind::join: s.next[o.thread] = s.end(); return end(s, who, ending::done);
      case kind::leave: return leave(s, who);
      case kind::try_wait:
        return s.next[o.thread] == s.end() ? end(s, who, ending::nothing) : step(s, who);
      case kind::wait:
        if (s.next[o.thread] != s.end()) return wake(s, who);
        s.closed ? end(s, who, ending::nothing) : s.waiting.push_back(who);
        return;
      case kind::try_send:
      case kind::send: return send(s, who);
      case kind::close:
        end_number(s, who, s.closed ? 0 : 1);
        s.closed = true;
        return end_all(s, ending::nothing);
      case kind::waiting: return end_number(s, who, s.waiting.size());
      default: return end_number(s, who, s.receivers());
    }
  }

  void serve(state& s) const {
    for (std::size_t before = SIZE_MAX; before != s.waiting.size();) {
      before = s.waiting.size();
      serve_each(s, [&](std::size_t w) { return serve_one(s, w); });
    }
  }

  void step(state& s, std::size_t who) const {
    if (all_[who].what == kind::leave) {
      if (s.values.empty() || s.values.front().unread > 0) return end(s, who, ending::done);
      remove_oldest(s);
    } else {
      read(s, who);
    }
    serve(s);
  }

 private:
  [[nodiscard]] bool is_full(const state& s) const {
    return rules_.waits && s.values.size() == rules_.capacity;
  }

  bool serve_one(state& s, std::size_t who) const {
    if (all_[who].what == kind::send) {
      if (is_full(s)) return false;
      store(s, who);
      end(s, who, ending::done);
      return true;
    }
    if (s.next[all_[who].thread] == s.end()) return false;
    wake(s, who);
    return true;
  }

  void send(state& s, std::size_t who) const {
    if (s.closed) return end(s, who, ending::nothing);
    if (!is_full(s)) {
      store(s, who);
      end(s, who, ending::done);
    } else if (all_[who].what == kind::try_send) {
      end(s, who, ending::nothing);
    } else {
      s.waiting.push_back(who);
    }
    serve(s);
  }

  void store(state& s, std::size_t who) const {
    if (s.receivers() == 0) return;
    if (s.values.size() == rules_.capacity) remove_oldest(s);
    s.values.push_back({all_[who].sent, s.receivers()});
  }

  static void remove_oldest(state& s) {
    s.values.erase(s.values.begin());
    ++s.begin;
  }

  void read(state& s, std::size_t who) const {
    std::uint64_t& next = *s.next[all_[who].thread];
    const std::uint64_t missed = next < s.begin ? s.begin - next : 0;
    next += missed;
    stored& v = s.values[static_cast<std::size_t>(next++ - s.begin)];
    end(s, who, ending::done, v.value, missed);
    if (--v.unread == 0 && &v == &s.values.front()) remove_oldest(s);
  }

  void leave(state& s, std::size_t who) const {
    std::uint64_t& next = *s.next[all_[who].thread];
    for (std::uint64_t n = std::max(next, s.begin); n != s.end(); ++n) {
      --s.values[static_cast<std::size_t>(n - s.begin)].unread;
    }
    s.next[all_[who].thread].reset();
    wake(s, who);
  }

  rules rules_;
};

}  // namespace sync_model

namespace recorded {

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
  [[nodiscard]] std::size_t waiting() { return object_.waiting_count(); }
  void at_once(operation& o) {
    switch (o.what) {
      case kind::join: receivers_[o.thread] = object_.subscribe(); return;
      case kind::leave: receivers_[o.thread].reset(); return;
      case kind::try_wait: return read(o, receivers_[o.thread]->try_next());
      case kind::try_send: return end_if(o, object_.try_send(o.sent));
      case kind::state: o.number = object_.receiver_count(); return;
      case kind::close: o.number = object_.close() ? 1 : 0; return;
      default: o.number = waiting();
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

}  // namespace recorded

namespace sync_model {

// Two channels: threads 0 and 2 have the senders, threads 1 and 3 the receivers.
class oneshot : public model {
 public:
  struct rules {};
  struct channel {
    auto operator<=>(const channel&) const = default;
    std::optional<int> value = {};
    bool was_sent = false;
    bool sender_gone = false;
    bool receiver_gone = false;
  };
  struct state : progress {
    explicit state(const rules&) {}
    auto operator<=>(const state&) const = default;
    std::array<channel, 2> channels = {};
  };
  oneshot(const history& all, const rules&) : model(all) {}

  void begin(state& s, std::size_t who) const {
    const operation& o = all_[who];
    channel& c = of(s, who);
    switch (o.what) {
      case kind::try_send:
        if (c.receiver_gone) return end(s, who, ending::nothing);
        c.value = o.sent;
        c.was_sent = c.sender_gone = true;
        end(s, who, ending::done);
        return serve(s);
      case kind::leave:
        (o.thread % 2 == 0 ? c.sender_gone : c.receiver_gone) = true;
        end(s, who, ending::done);
        return serve(s);
      case kind::try_wait: return step(s, who);
      case kind::wait:
      case kind::wait_until_closed: s.waiting.push_back(who); return serve(s);
      default: return end_number(s, who, c.receiver_gone ? 1 : 0);
    }
  }

  void serve(state& s) const {
    serve_each(s, [&](std::size_t w) {
      const channel& c = of(s, w);
      if (all_[w].what == kind::wait) {
        if (c.was_sent || c.sender_gone) wake(s, w);
        return c.was_sent || c.sender_gone;
      }
      if (c.receiver_gone) end(s, w, ending::done);
      return c.receiver_gone;
    });
  }
  void step(state& s, std::size_t who) const {
    const auto value = std::exchange(of(s, who).value, std::nullopt);
    value ? end(s, who, ending::done, *value) : end(s, who, ending::nothing);
  }

 private:
  [[nodiscard]] channel& of(state& s, std::size_t who) const {
    return s.channels[all_[who].thread / 2];
  }
};

}  // namespace sync_model

namespace recorded {

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

using channels =
    std::tuple<broadcast<leat::lag_policy::overwrite>, broadcast<leat::lag_policy::wait>, oneshot>;

}  // namespace recorded
