#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "leat/async/task.hpp"
#include "leat/base/internal/range_concepts.hpp"
#include "leat/train/checkpoint/detail/checkpoint_item.hpp"

namespace LEAT {

/// A type that saves and restores itself. `save()` returns its state as bytes. `restore()` accepts
/// these bytes, either as a function of std::string_view or as a coroutine,
/// `task<void> restore(std::string)`.
///
/// save() returns the current state and must not change it. A restore() that throws rejects the
/// bytes and must leave the object unchanged. Its exception decides whether restore_latest() tries
/// the previous checkpoint:
///
/// - invalid_argument, or any std::exception that is neither a std::system_error nor
///   std::bad_alloc: the object cannot interpret the bytes. The previous checkpoint is tried.
/// - failed_precondition or data_loss: the bytes are valid, but data that they depend on, such as
///   the object's input, has changed or is corrupt. No other checkpoint is tried.
template <class T>
concept checkpointable =
    detail::savable<T> && (detail::async_restorable<T> || detail::sync_restorable<T>);

/// A list of the values that a program saves in checkpoints, by name; created once, used by a
/// saver.
///
///     leat::checkpoint_registry what("digits, 3 layers");
///     what.add("step", step);
///     what.add("weights", weights);  // std::vector<float>
///     what.add("input", pipeline);   // has save() and restore()
///
/// The registry contains references: an added object must stay at its address while the registry
/// is used. Name, type and element size of a value are part of the file; a restore rejects an entry
/// of another type or size.
///
/// Errors: add() throws already_exists if the name was added before, and invalid_argument if the
///         name is empty or has more than 65,535 bytes.
/// Thread safety: thread-compatible; the saver's task reads and writes the values.
/// TensorFlow: the var_list of TensorFlow's Saver, and its trackable objects.
class checkpoint_registry {
 public:
  /// Creates an empty registry. `identity` describes the program whose values these are, such as
  /// the model and its shape. A restore rejects a checkpoint of another identity; an empty
  /// `identity` accepts any.
  /// Errors: invalid_argument if `identity` has more than 65,535 bytes.
  explicit checkpoint_registry(std::string identity = {});
  checkpoint_registry(checkpoint_registry&&) noexcept = default;
  checkpoint_registry& operator=(checkpoint_registry&&) = delete;

  /// Adds an object that saves and restores itself.
  template <checkpointable T>
  void add(std::string name, T& object) {
    add_item(std::make_unique<detail::object_item<T>>(std::move(name), object));
  }

  /// Adds a fixed number of values, which must not move in memory.
  template <class T, std::size_t Extent>
  void add(std::string name, std::span<T, Extent> values) {
    check_element<T>();
    add_memory(std::move(name), detail::element_type_of<T>(), sizeof(T),
               std::as_writable_bytes(values));
  }

  /// Adds a list of values. A restore gives the list its saved length.
  template <class T>
  void add(std::string name, std::vector<T>& values) {
    check_element<T>();
    static_assert(!std::is_same_v<T, bool>, "std::vector<bool> has no bytes: use std::uint8_t");
    using item = detail::list_item<std::vector<T>>;
    add_item(
        std::make_unique<item>(std::move(name), detail::element_type_of<T>(), sizeof(T), values));
  }

  /// Adds a text, or bytes. A restore gives the text its saved length.
  void add(std::string name, std::string& text);

  /// Adds one value, or an array of values, of a trivially copyable type.
  template <class T>
    requires(!checkpointable<T>)
  void add(std::string name, T& value) {
    if constexpr (std::ranges::contiguous_range<T>) {
      add(std::move(name), std::span(value));
    } else {
      add(std::move(name), std::span<T, 1>(&value, 1));
    }
  }

  /// Deleted: a temporary would be destroyed before it could be saved.
  template <class T>
  void add(std::string name, const T&& value) = delete;

  /// Returns the identity that was passed to the constructor.
  [[nodiscard]] const std::string& identity() const noexcept { return identity_; }
  [[nodiscard]] std::size_t size() const noexcept;
  [[nodiscard]] bool empty() const noexcept { return size() == 0; }

  // For the saver.
  /// Returns the registered entries, for the saver.
  [[nodiscard]] const std::vector<std::unique_ptr<detail::checkpoint_item>>& items()
      const noexcept {
    return items_;
  }

 private:
  template <class T>
  static void check_element() {
    static_assert(!std::is_const_v<T>, "a const value cannot be restored");
    static_assert(std::is_trivially_copyable_v<T>,
                  "type is not trivially copyable: add the members save() and restore()");
    static_assert(!std::is_pointer_v<T>,
                  "a pointer is not valid in another process: save the value");
  }

  void add_memory(std::string name, std::string_view type, std::size_t element_size,
                  std::span<std::byte> bytes);
  void add_item(std::unique_ptr<detail::checkpoint_item> item);

  std::string identity_;
  std::vector<std::unique_ptr<detail::checkpoint_item>> items_;
};

}  // namespace LEAT
