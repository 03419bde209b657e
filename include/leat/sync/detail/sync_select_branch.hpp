#pragma once

#include <atomic>
#include <ostream>
#include <source_location>
#include <utility>
#include <variant>

#include "leat/async/select.hpp"
#include "leat/sync/detail/sync_awaiter.hpp"

namespace leat::detail {

template <class Operation>
inline constexpr bool undoable<sync_awaiter<Operation>> = Operation::undoable;

/// An operation on a primitive that is part of a select.
template <class Operation>
class select_branch<sync_awaiter<Operation>> {
  using object_type = typename Operation::object_type;

 public:
  select_branch(sync_awaiter<Operation>&& o, select_state& s, int index) noexcept
      : select_branch(o.call_.object, std::move(o.operation_), s, index, o.call_.where) {}
  select_branch(select_branch&& unstarted, select_state& s, int index) noexcept
      : select_branch(unstarted.object_, std::move(unstarted.operation_), s, index,
                      unstarted.waiter_.where()) {}
  select_branch(const select_branch&) = delete;
  select_branch& operator=(const select_branch&) = delete;
  ~select_branch() { withdraw(); }

  [[nodiscard]] bool try_complete() {
    if (!operation_.try_complete(object_, {scheduler::current_task(), waiter_.where()}))
      return false;
    waiter_.outcome_ = sync_outcome::done;
    return true;
  }

  [[nodiscard]] bool begin() {
    begun_ = true;
    waiter_.request_ = operation_.request();
    return base(object_).begin(waiter_) && waiter_.select_state_.winner() == waiter_.index_;
  }

  void withdraw() noexcept {
    if (!begun_) return;
    begun_ = false;
    static_cast<void>(sync_base::abandon(waiter_));
  }

  void undo() noexcept {
    begun_ = false;
    if (waiter_.outcome_ == sync_outcome::done) operation_.undo(object_);
  }

  auto result() {
    begun_ = false;
    waiter_.throw_on_failure();
    if constexpr (std::is_void_v<sync_result<Operation>>) {
      operation_.result(object_, waiter_.outcome_);
      return std::monostate();
    } else {
      return operation_.result(object_, waiter_.outcome_);
    }
  }

  void describe(std::ostream& out) const {
    out << waiter_.what().verb << ' ';
    // acquire: the object may be gone once the operation has ended.
    if (begun_ && !waiter_.linked_.load(std::memory_order_acquire)) {
      out << waiter_.what().object;
    } else {
      waiter_.describe_object(out);
    }
  }

 private:
  select_branch(object_type& object, Operation&& operation, select_state& s, int index,
                const std::source_location& where) noexcept
      : operation_(std::move(operation)),
        object_(object),
        waiter_(object, Operation::wait_kind, operation_.request(), s, index, where) {}

  static sync_base& base(sync_base& object) noexcept { return object; }

  Operation operation_;
  object_type& object_;
  selected_sync_waiter waiter_;
  bool begun_ = false;
};

}  // namespace leat::detail
