#pragma once

#include <ostream>
#include <source_location>
#include <tuple>

#include "leat/async/operation/forms.hpp"
#include "leat/async/operation/irrevocable.hpp"
#include "leat/async/scheduler/timer_heap.hpp"
#include "leat/sync/synchronizer.hpp"
#include "support/leat_test.hpp"

// Operations that a user could write: of a primitive, of an object without a synchronizer, and one
// that cannot be undone.

namespace leat_test {

/// Each give() lets one take() end. What a task took and did not receive is given back.
class ticket_box final : public leat::synchronizer {
 public:
  explicit ticket_box(std::string name)
      : synchronizer("ticket_box", order::first_in_first_out, std::move(name)) {}
  ~ticket_box() override { unregister(); }

  void give() {
    leat::work_list woken;
    {
      const lock_type lock(mutex_);
      ++tickets_;
      woken = serve();
    }
    wake_all(woken);
  }
  [[nodiscard]] bool try_take() { return take_operation(this).try_complete({}); }

  auto take(std::source_location where = std::source_location::current()) {
    return leat::await_operation<take_operation>(where, this);
  }
  template <class Token>
  auto async_take(Token&& token, std::source_location where = std::source_location::current()) {
    return leat::initiate<take_operation>(where, std::forward<Token>(token), this);
  }

 private:
  struct take_operation : leat::synchronizer_operation<ticket_box> {
    using synchronizer_operation::synchronizer_operation;
    static constexpr auto wait_kind = leat::synchronizer_waiter::kind_of("take from", "ticket_box");
    static std::size_t request() noexcept { return 1; }
    bool try_complete(leat::caller) const {
      const lock_type lock(object->mutex_);
      if (object->tickets_ == 0 || !object->waiting_.empty()) return false;
      --object->tickets_;
      return true;
    }
    void undo(leat::waiter&) const noexcept { object->give(); }
    static bool result(leat::wait_outcome o) noexcept { return o == leat::wait_outcome::done; }
  };

  bool is_ready(const leat::synchronizer_waiter&) const noexcept override { return tickets_ > 0; }
  void grant(leat::synchronizer_waiter&) noexcept override { --tickets_; }
  void append_state_to(std::string& text) const override {
    text += " (" + std::to_string(tickets_) + " left)";
  }

  std::size_t tickets_ = 0;
};

/// A sleep without a synchronizer: its object is the timer heap of the scheduler.
struct nap_operation {
  struct waiter final : leat::waiter, leat::timer {
    waiter(nap_operation& o, const std::source_location& where) noexcept
        : leat::waiter(nap_kind, where), timer(&expired, o.until) {}
    static void expired(timer& t) noexcept {
      auto& self = static_cast<waiter&>(t);
      if (!self.claim()) return;
      self.set_outcome(leat::wait_outcome::done);
      self.wake();
    }
    static void cancel(leat::wait_operation& w) noexcept {
      auto& self = static_cast<waiter&>(w);
      if (withdraw(self)) self.wake();
    }
    static void describe(const leat::wait_operation&, std::ostream& out) { out << "for a while"; }
    static constexpr kind nap_kind{"nap", &cancel, &describe};
  };

  static bool try_complete(leat::caller) noexcept { return false; }
  static bool begin(waiter& w) {
    w.waiting_on()->add_timer(w, w.when_);
    return false;
  }
  static bool withdraw(waiter& w) noexcept {
    if (!w.is_set() || !w.waiting_on()->cancel_timer(w)) return false;
    w.set_outcome(leat::wait_outcome::cancelled);
    return true;
  }
  static void undo(leat::waiter&) noexcept {}
  static void result(leat::wait_outcome) noexcept {}
  static constexpr bool undoable = true;

  leat::time_point until;
};

inline auto nap_for(leat::duration d,
                    std::source_location where = std::source_location::current()) {
  return leat::await_operation<nap_operation>(where, leat::scheduler::current()->now() + d);
}

/// Code outside leat that answers one question, or reports that it was cancelled.
struct oracle {
  class answer;
  answer* asked = nullptr;
  bool answers_when_cancelled = false;

  auto ask(std::source_location where = std::source_location::current());
  inline void reply(std::error_code ec, int n);
};

class [[nodiscard]] oracle::answer final : public leat::irrevocable_wait,
                                           public leat::irrevocable_forms<answer> {
 public:
  answer(oracle& o, const std::source_location& where) noexcept
      : irrevocable_wait(answer_kind, where), oracle_(o) {}
  answer(answer&& unstarted) noexcept : answer(unstarted.oracle_, unstarted.where()) {}
  ~answer() {
    if (oracle_.asked == this) oracle_.asked = nullptr;
  }

  bool start() {
    if (oracle_.asked) throw leat::failure(errc::failed_precondition, "the oracle is busy");
    state_ = state::running;
    oracle_.asked = this;
    return false;
  }
  void end_unstarted(std::error_code ec) noexcept { error_ = ec, state_ = state::over; }
  void request_end() noexcept {
    if (state_ != state::running) return;
    if (oracle_.answers_when_cancelled) return oracle_.reply({}, 1);
    oracle_.reply(make_error_code(errc::cancelled), 0);
  }
  [[nodiscard]] bool is_fresh() const noexcept { return state_ == state::fresh; }
  [[nodiscard]] bool is_over() const noexcept { return state_ == state::over; }
  [[nodiscard]] bool had_effect() const noexcept { return error_ != errc::cancelled; }
  int await_resume() {
    if (const auto ec = code()) throw leat::failure(ec, "ask an oracle" + end_text());
    return value_;
  }
  leat::operation_result<int> await_tuple() noexcept { return {code(), value_}; }

 private:
  friend oracle;
  enum class state { fresh, running, over };
  [[nodiscard]] std::error_code code() const noexcept {
    return error_ == errc::cancelled ? end_code() : error_;
  }
  static void cancel(wait_operation& w) noexcept { static_cast<answer&>(w).request_end(); }
  static void describe(const wait_operation&, std::ostream& out) { out << "an oracle"; }
  static constexpr kind answer_kind{"ask", &cancel, &describe};

  oracle& oracle_;
  state state_ = state::fresh;
  std::error_code error_;
  int value_ = 0;
};

inline auto oracle::ask(std::source_location where) { return answer(*this, where); }
inline void oracle::reply(std::error_code ec, int n) {
  answer* const a = std::exchange(asked, nullptr);
  if (!a) return;
  a->error_ = ec;
  a->value_ = n;
  a->run_ = [](leat::work_item& item) noexcept {
    auto& self = static_cast<answer&>(static_cast<leat::wait_operation&>(item));
    self.state_ = answer::state::over;
    self.ended();
  };
  a->get_scheduler()->post(*a);
}

}  // namespace leat_test
