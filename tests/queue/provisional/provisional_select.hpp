#pragma once

// Provisional pops in a select, next to an operation that cannot be undone and whose end the test
// chooses.

#include <exception>
#include <ostream>
#include <source_location>
#include <tuple>
#include <variant>

#include "leat/async/detail/select_state.hpp"
#include "queue/provisional/provisional_pops.hpp"
#include "support/leat_test.hpp"

namespace provisional_pops {

// The end of an operation, from outside.
struct held_end {
  leat::detail::select_state* waiting = nullptr;
  int index = 0;
  bool cancelled = false;
  bool over = false;
  bool effect = false;

  void end(bool with_effect) {
    over = true;
    effect = with_effect;
    if (waiting->claim(index) || cancelled) waiting->wake();
  }
};

// An operation that ends when its held_end says so.
struct held_operation {
  held_end& end;
  std::source_location location = std::source_location::current();
  [[nodiscard]] const std::source_location& where() const noexcept { return location; }
};

}  // namespace provisional_pops

namespace leat::detail {

using provisional_pops::held_operation;

template <>
inline constexpr bool irrevocable<held_operation> = true;

template <>
class select_branch<held_operation> {
 public:
  select_branch(held_operation&& o, select_state& s, int index) noexcept
      : end_(o.end), state_(s), index_(index) {}
  select_branch(select_branch&& unstarted, select_state& s, int index) noexcept
      : end_(unstarted.end_), state_(s), index_(index) {}
  [[nodiscard]] bool try_complete() const noexcept { return false; }
  [[nodiscard]] bool begin() noexcept {
    end_.waiting = &state_;
    end_.index = index_;
    return false;
  }
  void withdraw() const noexcept {}
  [[nodiscard]] bool is_over() const noexcept { return !end_.waiting || end_.over; }
  void request_cancel() noexcept { end_.cancelled = true; }
  [[nodiscard]] bool had_effect() const noexcept { return end_.over && end_.effect; }
  void interrupt(const limit_end&) noexcept {}
  [[nodiscard]] std::monostate result() const noexcept { return {}; }
  [[nodiscard]] leat::operation_result<void> tuple() const noexcept { return {}; }
  void describe(std::ostream& out) const { out << "a held operation"; }

 private:
  provisional_pops::held_end& end_;
  select_state& state_;
  const int index_;
};

}  // namespace leat::detail

namespace provisional_pops {

struct by_select {
  static constexpr bool at_once = false;  // the other operation does not start
  template <class Kind, class Pop>
  class pop : public ending {
   public:
    explicit pop(typename Kind::queue& q) {
      group_.spawn_on(loop_.get_scheduler(), run(q));
      loop_.run_ready();
    }
    ~pop() {
      loop_.end();
      static_cast<void>(leat_test::is_cancelled(group_));
    }
    // The other operation ends with an effect, although the pop has won; or it wins.
    void undo() { finish(true); }
    void commit() { finish(false); }
    void end_loop() { loop_.end(); }

   private:
    void finish(bool with_effect) {
      if (ended) return;
      loop_.run_ready();  // a pop that has won asks the other operation to end
      if (ended) return;
      end_.end(with_effect);
      loop_.run_ready();
    }
    task<> run(typename Kind::queue& q) {
      try {
        const auto done = co_await leat::select(Pop::start(q), held_operation{end_});
        if (done.index() == 0) moved = Pop::template count<Kind>(std::get<0>(done));
      } catch (...) {
        ec = leat::to_error_code(std::current_exception());
      }
      ended = true;
    }

    held_end end_;
    leat_test::embedded_loop loop_;
    task_group group_;
  };
};

}  // namespace provisional_pops
