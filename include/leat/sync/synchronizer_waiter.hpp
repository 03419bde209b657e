#pragma once

#include <cstddef>
#include <iosfwd>
#include <source_location>
#include <string>
#include <string_view>

#include "leat/async/operation/waiter.hpp"

namespace LEAT {

class synchronizer;
namespace detail {
class state_synchronizer;
}  // namespace detail

/// The wait of an operation on a synchronizer, such as the acquire of a semaphore.
class synchronizer_waiter : public waiter {
 public:
  /// The operation has `object`, `wait_kind` and `request()`. The object defines what a request is,
  /// such as a number of permits, a version or the address of a value.
  template <class Operation>
  synchronizer_waiter(Operation& operation, const std::source_location& where) noexcept
      : waiter(Operation::wait_kind, where),
        object_(*operation.object),
        request_(operation.request()) {}

  /// Returns the kind of the waits of an operation on objects of type `object`, for dumps and
  /// messages: "acquire", "semaphore". Both must outlive the program's last wait, as literals do.
  [[nodiscard]] static constexpr kind kind_of(std::string_view verb,
                                              std::string_view object) noexcept {
    return {verb, &cancel, &describe, &inspect, nullptr, object};
  }

  /// Returns what the operation requests.
  [[nodiscard]] std::size_t request() const noexcept { return request_; }

  // -- For the forms and for dumps, as in waiter.
  /// Throws the error of the outcome, if it is one, with the name and the state of the object.
  [[gnu::always_inline]] void throw_on_failure() const {
    if (outcome_ >= wait_outcome::cancelled) [[unlikely]]
      throw failed();
  }
  /// For a dump.
  [[nodiscard]] detail::waiting_operation operation() const noexcept;

 private:
  friend class synchronizer;
  friend class detail::state_synchronizer;
  template <class Object>
  friend struct synchronizer_operation;

  [[nodiscard]] bool waits_in_task() const noexcept { return context_ != nullptr; }
  static void cancel(wait_operation& w) noexcept;
  static void describe(const wait_operation& w, std::ostream& out);
  static void inspect(const wait_operation& w, wait_target& target);
  [[nodiscard, gnu::cold]] failure failed() const;
  void append_object_to(std::string& text) const;

  synchronizer& object_;
  const std::size_t request_;
};

/// The base of the operations on a synchronizer. An operation adds
///
///     static constexpr auto wait_kind = synchronizer_waiter::kind_of("wait for", "latch");
///     std::size_t request() const noexcept;  // what the object needs to know while it waits
///     bool try_complete(caller);             // locks the object; true: done, without a wait
///     void undo(waiter&) noexcept;
///     auto result(wait_outcome);
///
/// See operation, and docs/operations.md, which builds a latch.
template <class Object>
struct synchronizer_operation {
  // The members of operation that depend on the synchronizer only.
  using waiter = synchronizer_waiter;     ///< the wait
  static constexpr bool undoable = true;  ///< an operation may hide it
  /// `o` must outlive the operation.
  synchronizer_operation(Object* o) noexcept : object(o) {}
  /// Serves the operation, or adds its wait to the wait queue.
  static bool begin(synchronizer_waiter& w) noexcept;
  /// Leaves the wait queue.
  static bool withdraw(synchronizer_waiter& w) noexcept;

  Object* object;  ///< on which it works

 protected:
  [[nodiscard]] static Object& object_of(const synchronizer_waiter& w) noexcept {
    return static_cast<Object&>(w.object_);
  }
};

}  // namespace LEAT
