#pragma once

#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <utility>

#include "leat/base/clock.hpp"

namespace LEAT::sim {

/// The future events of a network, by time.
///
/// Thread safety: none.
class agenda {
 public:
  /// Something with at most one time at which it happens. Destroying it cancels it.
  class event {
   public:
    explicit event(agenda& a) noexcept : agenda_(a) {}
    event(const event&) = delete;
    event& operator=(const event&) = delete;
    virtual ~event() { cancel(); }

    /// Sets when it happens; no_deadline: never.
    void set(time_point due) {
      if (due == due_) return;
      cancel();
      if (due == no_deadline) return;
      due_ = due;
      order_ = ++agenda_.order_;
      agenda_.events_.insert(this);
    }
    void cancel() noexcept {
      if (due_ == no_deadline) return;
      agenda_.events_.erase(this);
      due_ = no_deadline;
    }
    [[nodiscard]] time_point due() const noexcept { return due_; }

    /// Happens, and returns a line for the schedule. It is not set any more, and may destroy
    /// itself.
    virtual std::string happen() = 0;

   private:
    friend agenda;
    agenda& agenda_;
    time_point due_ = no_deadline;
    std::uint64_t order_ = 0;
  };

  [[nodiscard]] time_point earliest() const noexcept {
    return events_.empty() ? no_deadline : (*events_.begin())->due_;
  }
  /// Returns the number of events that are due by `now`.
  [[nodiscard]] std::size_t due(time_point now) const noexcept {
    std::size_t count = 0;
    for (auto i = events_.begin(); i != events_.end() && (*i)->due_ <= now; ++i) ++count;
    return count;
  }
  /// Lets the event with this index happen, counted from the earliest.
  std::string happen(std::size_t index) {
    event& e = **std::next(events_.begin(), static_cast<std::ptrdiff_t>(index));
    e.cancel();
    return e.happen();
  }

 private:
  struct earlier {
    bool operator()(const event* a, const event* b) const noexcept {
      return std::pair(a->due_, a->order_) < std::pair(b->due_, b->order_);
    }
  };

  std::set<event*, earlier> events_;
  std::uint64_t order_ = 0;
};

}  // namespace LEAT::sim
