#pragma once

// Plain sequential models of the primitives.

#include <algorithm>
#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "stress/sync_history.hpp"

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
    std::size_t unread = 0;  // by this many receivers
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
