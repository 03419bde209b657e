#pragma once

#include <cstddef>
#include <iosfwd>
#include <source_location>
#include <string>
#include <string_view>

#include "leat/async/operation/waiter.hpp"

namespace leat::detail {

class sync_base;
using sync_outcome = wait_outcome;

/// An operation that waits on a primitive, such as the acquire of a semaphore.
class sync_waiter : public waiter {
 public:
  /// The operation has `object`, `wait_kind`, and `request()`: what it requests, as its primitive
  /// defines it: a number of permits, a version, the address of a value.
  template <class Operation>
  sync_waiter(Operation& operation, const std::source_location& where) noexcept
      : waiter(Operation::wait_kind, where),
        object_(*operation.object),
        request_(operation.request()) {}

  /// Returns the kind of the waits of an operation on objects of type `object`, for dumps and
  /// messages: "acquire", "semaphore".
  [[nodiscard]] static constexpr kind kind_of(std::string_view verb,
                                              std::string_view object) noexcept {
    return {verb,  &sync_waiter::cancel, &sync_waiter::describe, &sync_waiter::inspect, nullptr,
            object};
  }

  [[gnu::always_inline]] void throw_on_failure() const {
    if (outcome_ >= wait_outcome::cancelled) [[unlikely]]
      throw failed();
  }
  [[nodiscard]] waiting_operation operation() const noexcept;

  sync_base& object_;
  std::size_t request_;

 private:
  static void cancel(wait_operation& w) noexcept;
  static void describe(const wait_operation& w, std::ostream& out);
  static void inspect(const wait_operation& w, wait_target& target);
  [[nodiscard, gnu::cold]] failure failed() const;
  void append_object_to(std::string& text) const;
};

/// The base of the operations on a primitive, which add `wait_kind`, request(), try_complete(),
/// undo() and result().
template <class Object>
struct sync_operation {
  using waiter = sync_waiter;
  static constexpr bool undoable = true;
  sync_operation(Object* o) noexcept : object(o) {}
  static bool begin(sync_waiter& w) noexcept;
  static bool withdraw(sync_waiter& w) noexcept;

  Object* object;
};

}  // namespace leat::detail
