#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "leat/async/task.hpp"
#include "leat/pipeline/stage/internal/step_observer.hpp"
#include "leat/tensor/dtype.hpp"
#include "leat/train/checkpoint/detail/saved_value.hpp"

namespace LEAT::detail {

template <class T>
concept savable = requires(T& t) {
  { t.save() } -> std::convertible_to<std::string>;
};
template <class T>
concept async_restorable = requires(T& t, std::string bytes) {
  { t.restore(std::move(bytes)) } -> std::same_as<task<void>>;
};
template <class T>
concept sync_restorable = requires(T& t, std::string_view bytes) {
  { t.restore(bytes) } -> std::same_as<void>;
};

/// Returns the name of the dtype that describes a C++ type; empty if there is none.
template <class T>
[[nodiscard]] std::string_view element_type_of() {
  if constexpr (tensor_value<T>) {
    return leat::to_string(leat::dtype_of<T>);
  } else if constexpr (std::is_same_v<T, char> || std::is_same_v<T, std::byte>) {
    return leat::to_string(dtype::uint8);  // char may be signed or not
  } else if constexpr (std::is_same_v<T, long long>) {
    return leat::to_string(dtype::int64);
  } else if constexpr (std::is_same_v<T, unsigned long long>) {
    return leat::to_string(dtype::uint64);
  } else {
    return {};
  }
}

/// A registered value. It is converted to bytes, and restored from bytes in two steps, so that no
/// value changes before all are verified.
class checkpoint_item {
 public:
  checkpoint_item(std::string name, std::string_view type, std::size_t element_size)
      : name_(std::move(name)), type_(type), element_size_(element_size) {}
  checkpoint_item(const checkpoint_item&) = delete;
  checkpoint_item& operator=(const checkpoint_item&) = delete;
  virtual ~checkpoint_item() = default;

  [[nodiscard]] const std::string& name() const noexcept { return name_; }
  [[nodiscard]] const std::string& type() const noexcept { return type_; }
  [[nodiscard]] std::size_t element_size() const noexcept { return element_size_; }

  /// The required number of bytes; empty: any number of elements.
  [[nodiscard]] virtual std::optional<std::size_t> fixed_size() const noexcept { return {}; }

  /// Returns the current value. `copy`: it may change before the bytes are used.
  [[nodiscard]] virtual saved_value save(bool copy) = 0;

  /// Returns memory for the bytes to restore. Errors: std::bad_alloc.
  [[nodiscard]] virtual std::span<std::byte> stage(std::size_t size) = 0;
  /// Frees that memory.
  virtual void drop() noexcept = 0;

  /// Returns true if restore() is to be awaited, and may reject the bytes; otherwise use commit().
  [[nodiscard]] virtual bool is_object() const noexcept { return false; }
  /// Assigns the staged bytes to the value.
  virtual void commit() noexcept {}
  [[nodiscard]] virtual task<void> restore(std::string bytes);
  /// Returns the staged bytes, for restore().
  [[nodiscard]] virtual std::string take_staged() noexcept { return {}; }

  /// Sets the observer of the elements that for_each() of a pipeline processes.
  virtual void observe_steps(const std::shared_ptr<step_observer>&) {}

 private:
  const std::string name_;
  const std::string type_;
  const std::size_t element_size_;
};

/// Values in memory at a fixed address.
class memory_item final : public checkpoint_item {
 public:
  memory_item(std::string name, std::string_view type, std::size_t element_size,
              std::span<std::byte> bytes)
      : checkpoint_item(std::move(name), type, element_size), bytes_(bytes) {}

  [[nodiscard]] std::optional<std::size_t> fixed_size() const noexcept override {
    return bytes_.size();
  }
  [[nodiscard]] saved_value save(bool copy) override { return {bytes_, copy}; }
  [[nodiscard]] std::span<std::byte> stage(std::size_t size) override;
  void drop() noexcept override;
  void commit() noexcept override;

 private:
  std::span<std::byte> bytes_;
  std::vector<std::byte> staged_;
};

/// A std::vector or std::string, which is restored with the size that was saved.
template <class List>
class list_item final : public checkpoint_item {
 public:
  list_item(std::string name, std::string_view type, std::size_t element_size, List& list)
      : checkpoint_item(std::move(name), type, element_size), list_(list) {}

  [[nodiscard]] saved_value save(bool copy) override {
    return {std::as_bytes(std::span(list_)), copy};
  }
  [[nodiscard]] std::span<std::byte> stage(std::size_t size) override {
    staged_.resize(size / element_size());
    return std::as_writable_bytes(std::span(staged_));
  }
  void drop() noexcept override { List().swap(staged_); }
  void commit() noexcept override {
    list_.swap(staged_);
    drop();
  }

 private:
  List& list_;
  List staged_;
};

/// The common part of all object_items.
class any_object_item : public checkpoint_item {
 public:
  explicit any_object_item(std::string name) : checkpoint_item(std::move(name), "object", 1) {}

  [[nodiscard]] std::span<std::byte> stage(std::size_t size) final;
  void drop() noexcept final;

  [[nodiscard]] bool is_object() const noexcept final { return true; }
  [[nodiscard]] std::string take_staged() noexcept final;

 private:
  std::string staged_;
};

/// An object with save() and restore().
template <class T>
class object_item final : public any_object_item {
 public:
  object_item(std::string name, T& object) : any_object_item(std::move(name)), object_(object) {}

  [[nodiscard]] saved_value save(bool) override { return saved_value(std::string(object_.save())); }
  void observe_steps(const std::shared_ptr<step_observer>& observer) override {
    if constexpr (requires { object_.observe_steps(observer); }) object_.observe_steps(observer);
  }
  [[nodiscard]] task<void> restore(std::string bytes) override {
    if constexpr (async_restorable<T>) {
      co_await object_.restore(std::move(bytes));
    } else {
      object_.restore(std::string_view(bytes));
      co_return;
    }
  }

 private:
  T& object_;
};

}  // namespace LEAT::detail
