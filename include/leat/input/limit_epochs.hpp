#pragma once

#include <atomic>
#include <concepts>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "leat/async/task.hpp"

namespace LEAT {

namespace detail {

// How many epochs there are, and which one comes next. Thread-safe.
class epoch_limit {
 public:
  // Errors: invalid_argument for a number below 1; the message begins with `owner`.
  epoch_limit(std::optional<std::int64_t> num_epochs, std::string_view owner);

  // The number of the epoch that begins now, from 0; empty when all have begun.
  [[nodiscard]] std::optional<std::uint64_t> next() noexcept;

 private:
  const std::uint64_t count_;
  std::atomic<std::uint64_t> begun_{0};
};

}  // namespace detail

/// A source that returns a value `num_epochs` times, then an empty optional. If `num_epochs` is not
/// set, it never ends.
///
///     leat::limit_epochs greeting(std::string("Love Me"), 2);
///     while (auto text = co_await greeting()) use(*text);  // twice
///
/// The count belongs to the object and is not part of a checkpoint, so it starts over when a model
/// is restored. Copies share the count: several tasks together get the value `num_epochs` times.
///
/// Thread safety: thread-safe, including copies.
/// Cost:          O(1), and a copy of the value.
/// TensorFlow:    tf.train.limit_epochs.
template <std::copy_constructible T>
class limit_epochs {
 public:
  /// Errors: invalid_argument if `num_epochs` is below 1.
  explicit limit_epochs(T value, std::optional<std::int64_t> num_epochs = {})
      : state_(std::make_shared<state>(std::move(value), num_epochs)) {}

  /// Returns the value, or an empty optional after `num_epochs` calls. Never waits.
  [[nodiscard]] std::optional<T> take() const {
    if (!state_->limit.next()) return std::nullopt;
    return state_->value;
  }

  /// Like take(), but returns a task, so that the object can feed the stages of a pipeline. The
  /// task may outlive this object.
  [[nodiscard]] task<std::optional<T>> operator()() const { return take_from(*this); }

 private:
  struct state {
    state(T v, std::optional<std::int64_t> num_epochs)
        : value(std::move(v)), limit(num_epochs, "limit_epochs") {}
    const T value;
    detail::epoch_limit limit;
  };

  static task<std::optional<T>> take_from(limit_epochs self) { co_return self.take(); }

  std::shared_ptr<state> state_;
};

/// Deduces std::string from a string literal.
limit_epochs(const char*, std::optional<std::int64_t> = {}) -> limit_epochs<std::string>;

}  // namespace LEAT
