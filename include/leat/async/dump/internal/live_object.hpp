#pragma once

#include <cstdint>

#include "leat/base/flavour.hpp"

namespace LEAT::detail {

struct object_state;

/// Places a queue, or a primitive on which an operation has waited, in the list of all such objects
/// of the process, which dump() prints.
///
/// A queue calls add() at the end of its constructor; a primitive calls it before its first wait.
/// Both call remove() at the beginning of the destructor. remove() waits for a dump that is walking
/// the list, so a dump reads no object that is gone. No operation that need not wait touches the
/// entry.
class live_object {
 public:
  enum class access : std::uint8_t {
    as_owner,  ///< only if the calling thread owns the object's lock
    any,
    for_trace,  ///< without a lock: the name and the approximate size of a queue, nothing else
    metrics_as_owner,  ///< as `as_owner`: only the name and the metrics
    metrics,           ///< as `any`: only the name and the metrics
  };
  /// Returns true if the metrics of the object were requested.
  [[nodiscard]] static constexpr bool is_for_metrics(access how) noexcept {
    return how == access::metrics || how == access::metrics_as_owner;
  }
  /// Returns true if only the owner of the object's lock was requested to report.
  [[nodiscard]] static constexpr bool is_for_owner(access how) noexcept {
    return how == access::as_owner || how == access::metrics_as_owner;
  }
  /// Fills in the state of an object. Returns false, without effect, if access was not granted.
  /// Errors: std::bad_alloc.
  using reporter = bool (*)(const void* object, access how, object_state& state);

  /// `type`: "queue", "mutex", ...
  live_object(const void* object, const char* type, reporter r) noexcept
      : object_(object), type_(type), reporter_(r) {}
  live_object(const live_object&) = delete;
  live_object& operator=(const live_object&) = delete;

  /// Adds the object to the list, unless it is there already. Thread safety: thread-safe.
  void add() noexcept;
  /// Removes the object from the list, if it is there.
  void remove() noexcept;

  /// Returns the word for the object in messages.
  [[nodiscard]] const char* type() const noexcept { return type_; }

  /// Returns the number of the object, which add() assigns. Numbers repeat after 2^32 objects.
  [[nodiscard]] std::uint32_t number() const noexcept {
    return static_cast<std::uint32_t>(number_);
  }

  /// Returns true if the object at this address still has this number. Called when an operation
  /// that waited on a queue ends. Cost: O(objects).
  [[nodiscard]] static bool is_alive(const void* object, std::uint32_t number) noexcept;

 private:
  friend class live_objects;

  const void* const object_;
  const char* const type_;
  const reporter reporter_;
  std::uint64_t number_ = 0;  // counts the objects that were ever added; 0 before add()
  live_object* previous_ = nullptr;
  live_object* following_ = nullptr;
};

}  // namespace LEAT::detail
