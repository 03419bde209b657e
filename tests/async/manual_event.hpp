#pragma once

#include <coroutine>
#include <ostream>
#include <source_location>

#include "support/leat_test.hpp"

namespace leat_test {

/// An event for tests of the core, which has none of its own. set() wakes every waiter of one
/// scheduler. A stop cancels a wait.
class manual_event {
 public:
  class [[nodiscard]] waiter : public leat::wait_operation {
   public:
    waiter(manual_event& e, const std::source_location& where) noexcept
        : wait_operation(event_kind, where), event_(e) {}
    ~waiter() { leave(); }

    bool await_ready() noexcept { return event_.set_ || (cancelled_ = stop_requested()); }
    void await_suspend(std::coroutine_handle<> h) noexcept {
      if (!bound()) attach(h);
      begin_wait();
      next_waiter_ = event_.waiters_;
      event_.waiters_ = this;
    }
    void await_resume() const {
      if (cancelled_) throw leat::failure(errc::cancelled, "the wait for an event");
    }

   private:
    friend class manual_event;

    bool leave() noexcept {
      for (waiter** at = &event_.waiters_; *at; at = &(*at)->next_waiter_) {
        if (*at != this) continue;
        *at = next_waiter_;
        return true;
      }
      return false;
    }
    static void cancel(leat::wait_operation& w) noexcept {
      auto& self = static_cast<waiter&>(w);
      if (!self.leave()) return;
      self.cancelled_ = true;
      self.wake();
    }
    static void describe(const leat::wait_operation& w, std::ostream& out) {
      out << "event '" << static_cast<const waiter&>(w).event_.name_ << "'";
    }
    static inline const kind event_kind{"wait for", &waiter::cancel, &waiter::describe};

    manual_event& event_;
    waiter* next_waiter_ = nullptr;
    bool cancelled_ = false;
  };

  explicit manual_event(const char* name = "") noexcept : name_(name) {}

  waiter wait(std::source_location where = std::source_location::current()) noexcept {
    return {*this, where};
  }
  void set() noexcept {
    set_ = true;
    while (waiters_) {
      waiter& w = *waiters_;
      waiters_ = w.next_waiter_;
      w.wake();
    }
  }

 private:
  const char* name_;
  bool set_ = false;
  waiter* waiters_ = nullptr;
};

}  // namespace leat_test
