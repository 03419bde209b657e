#pragma once

#include <ostream>
#include <source_location>
#include <system_error>
#include <type_traits>
#include <utility>
#include <variant>

#include "leat/async/detail/select_state.hpp"
#include "leat/async/operation/detail/operation_awaiter.hpp"
#include "leat/async/scheduler/scheduler.hpp"
#include "leat/base/error.hpp"

namespace LEAT::detail {

template <class Operation>
inline constexpr bool undoable<operation_awaiter<Operation>> = Operation::undoable;

/// An operation that is part of a select or under a limit.
template <operation Operation>
class select_branch<operation_awaiter<Operation>> {
 public:
  select_branch(operation_awaiter<Operation>&& o, select_state& s, int index) noexcept
      : select_branch(std::move(o.operation_), s, index, o.call_.where) {}
  select_branch(select_branch&& unstarted, select_state& s, int index) noexcept
      : select_branch(std::move(unstarted.operation_), s, index, unstarted.waiter_.where()) {}
  select_branch(const select_branch&) = delete;
  select_branch& operator=(const select_branch&) = delete;
  ~select_branch() { withdraw(); }

  [[nodiscard]] bool is_empty_operation() const noexcept {
    return is_empty_operation_of(operation_);
  }
  [[nodiscard]] bool try_complete() {
    if (!operation_.try_complete(caller{scheduler::current_task(), waiter_.where()})) return false;
    waiter_.set_done();
    return true;
  }

  [[nodiscard]] bool begin() {
    begun_ = true;
    return Operation::begin(waiter_) && link_.state.winner() == link_.index;
  }
  [[nodiscard]] bool begin_provisional()
    requires provisional_operation<Operation>
  {
    begun_ = true;
    return operation_.begin_provisional(waiter_) && link_.state.winner() == link_.index;
  }
  void commit() noexcept
    requires provisional_operation<Operation>
  {
    Operation::commit(waiter_);
  }

  void withdraw() noexcept {
    if (!begun_) return;
    begun_ = false;
    static_cast<void>(Operation::withdraw(waiter_));
  }

  void undo() noexcept {
    begun_ = false;  // the object may be destroyed
    if (waiter_.outcome() == wait_outcome::done) operation_.undo(waiter_);
  }

  auto result() {
    begun_ = false;  // the object may be destroyed
    waiter_.throw_on_failure();
    if constexpr (std::is_void_v<result_of<Operation>>) {
      result_after_wait(operation_, waiter_);
      return std::monostate();
    } else {
      return result_after_wait(operation_, waiter_);
    }
  }

  // Withdrawn. Its last part may have been done after it had lost; then it is complete.
  void interrupt(const limit_end& by) noexcept
    requires partial_operation<Operation>
  {
    link_.ended_by = &by;
    waiter_.set_outcome(waiter_.is_complete()                ? wait_outcome::done
                        : by.code == errc::deadline_exceeded ? wait_outcome::late
                                                             : wait_outcome::cancelled);
  }
  auto tuple() noexcept
    requires partial_operation<Operation>
  {
    return tuple_after_wait(operation_, waiter_);
  }

  void describe(std::ostream& out) const {
    out << waiter_.what().verb << ' ';
    if (begun_ && !waiter_.is_linked()) {
      out << waiter_.what().object;  // it has ended, and its object may be gone
    } else {
      waiter_.describe_object(out);
    }
  }

 private:
  select_branch(Operation&& operation, select_state& s, int index,
                const std::source_location& where) noexcept
      : operation_(std::move(operation)), waiter_(operation_, where), link_{s, index} {
    waiter_.continue_select(link_);
  }

  Operation operation_;
  typename Operation::waiter waiter_;
  select_link link_;
  bool begun_ = false;
};

}  // namespace LEAT::detail
