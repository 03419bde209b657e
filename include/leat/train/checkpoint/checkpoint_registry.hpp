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
#include "leat/base/detail/range_concepts.hpp"
#include "leat/train/checkpoint/detail/checkpoint_item.hpp"

namespace leat {

/// What saves and restores itself: `save()` gives its state as bytes, `restore()` takes it back, as
/// a function of std::string_view or as a coroutine, `task<void> restore(std::string)`.
///
/// save() gives the state of this moment and must not change it. A restore() that throws refuses
/// the bytes, and leaves the object as it was: by an invalid_argument, or by anything else that is
/// no std::system_error, it says that it can make nothing of them, so that the checkpoint before is
/// tried; by failed_precondition or data_loss that they are right, and that what belongs to them,
/// such as its input, has changed or is corrupt: then it is not.
template <class T>
concept checkpointable =
    detail::savable<T> && (detail::async_restorable<T> || detail::sync_restorable<T>);

/// What of a program is saved in checkpoints, by name; made once, used by a saver.
///
///     leat::checkpoint_registry what("digits, 3 layers");
///     what.add("step", step);
///     what.add("weights", weights);  // std::vector<float>
///     what.add("input", pipeline);   // has save() and restore()
///
/// Holds references: what was added must stay where it is for as long as the registry is used. A
/// name, type and element size are part of the file; a value that comes back as another type or of
/// another size is refused.
///
/// Errors, of all add(): already_exists for a name that was added before; invalid_argument for an
///                       empty one, and for one of more than 65,535 bytes.
/// Thread safety: thread-compatible; the values are read and written by the saver's task.
/// TensorFlow: the var_list of TensorFlow's Saver, and its trackable objects.
class checkpoint_registry {
 public:
  /// `identity`: whose values these are, such as the model and its shape. A checkpoint of another
  /// identity is refused; empty: of any.
  /// Errors: invalid_argument for more than 65,535 bytes.
  explicit checkpoint_registry(std::string identity = {});
  checkpoint_registry(checkpoint_registry&&) noexcept = default;
  checkpoint_registry& operator=(checkpoint_registry&&) = delete;

  /// Adds an object that saves and restores itself.
  template <checkpointable T>
  void add(std::string name, T& object) {
    add_item(std::make_unique<detail::object_item<T>>(std::move(name), object));
  }

  /// Adds values that stand where they stand, as many as now.
  template <class T, std::size_t Extent>
  void add(std::string name, std::span<T, Extent> values) {
    check_element<T>();
    add_memory(std::move(name), detail::element_type_of<T>(), sizeof(T),
               std::as_writable_bytes(values));
  }

  /// Adds a list of values; comes back with as many as were saved.
  template <class T>
  void add(std::string name, std::vector<T>& values) {
    check_element<T>();
    static_assert(!std::is_same_v<T, bool>, "a std::vector<bool> has no bytes: use std::uint8_t");
    using item = detail::list_item<std::vector<T>>;
    add_item(
        std::make_unique<item>(std::move(name), detail::element_type_of<T>(), sizeof(T), values));
  }

  /// Adds a text, or bytes; comes back as long as it was saved.
  void add(std::string name, std::string& text);

  /// Adds one value, or an array of them, of a type that is copied byte by byte.
  template <class T>
    requires(!checkpointable<T>)
  void add(std::string name, T& value) {
    if constexpr (std::ranges::contiguous_range<T>) {
      add(std::move(name), std::span(value));
    } else {
      add(std::move(name), std::span<T, 1>(&value, 1));
    }
  }

  /// A value that is gone before it could be saved.
  template <class T>
  void add(std::string name, const T&& value) = delete;

  [[nodiscard]] const std::string& identity() const noexcept { return identity_; }
  [[nodiscard]] std::size_t size() const noexcept;
  [[nodiscard]] bool empty() const noexcept { return size() == 0; }

  // For the saver.
  [[nodiscard]] const std::vector<std::unique_ptr<detail::checkpoint_item>>& items()
      const noexcept {
    return items_;
  }

 private:
  template <class T>
  static void check_element() {
    static_assert(!std::is_const_v<T>, "what is const cannot be restored");
    static_assert(std::is_trivially_copyable_v<T>,
                  "give it save() and restore(): its bytes are not its value");
    static_assert(!std::is_pointer_v<T>, "a pointer means nothing to another process");
  }

  void add_memory(std::string name, std::string_view type, std::size_t element_size,
                  std::span<std::byte> bytes);
  void add_item(std::unique_ptr<detail::checkpoint_item> item);

  std::string identity_;
  std::vector<std::unique_ptr<detail::checkpoint_item>> items_;
};

}  // namespace leat
