#pragma once

#include <source_location>
#include <utility>

#include "leat/sync/oneshot.hpp"

namespace LEAT::detail {

/// Turns that tasks receive in the order in which they took a place, although they become ready for
/// their turns in another order. Thread-bound.
class turn_order {
  struct turn {};

 public:
  /// A place in the order. If it is destroyed before pass_on(), later places get no turn.
  class place {
   public:
    /// Waits for the turn. The result is empty if no turn will come. Errors: cancelled.
    [[nodiscard]] auto wait(std::source_location where = std::source_location::current()) {
      return mine_.receive(where);
    }
    /// Ends the turn: the next place has it now.
    void pass_on() noexcept { following_.send(turn()); }

   private:
    friend turn_order;
    place(oneshot<turn>::receiver mine, oneshot<turn>::sender following) noexcept
        : mine_(std::move(mine)), following_(std::move(following)) {}

    oneshot<turn>::receiver mine_;
    oneshot<turn>::sender following_;
  };

  /// Errors: std::bad_alloc.
  turn_order() {
    oneshot<turn> first;
    first.tx.send(turn());
    next_ = std::move(first.rx);
  }

  /// Returns the place after all others. Errors: std::bad_alloc, without effect.
  [[nodiscard]] place take_place() {
    oneshot<turn> following("turn");
    return {std::exchange(next_, std::move(following.rx)), std::move(following.tx)};
  }

 private:
  oneshot<turn>::receiver next_;
};

}  // namespace LEAT::detail
