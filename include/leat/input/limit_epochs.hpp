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

namespace leat {

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

/// Gives a value so many times, and then the end, for ever; without a number it never ends.
///
///     leat::limit_epochs greeting(std::string("Love Me"), 2);
///     while (auto text = co_await greeting()) use(*text);  // twice
///
/// The count is part of the object, and of no checkpoint: who restores a model begins anew. Copies
/// share it, so that several tasks together get the value no more often than that.
///
/// Thread safety: thread-safe, also for copies. Cost: O(1), and a copy of the value.
/// TensorFlow: tf.train.limit_epochs.
template <std::copy_constructible T>
class limit_epochs {
 public:
  /// Errors: invalid_argument for a number of epochs below 1.
  explicit limit_epochs(T value, std::optional<std::int64_t> num_epochs = {})
      : state_(std::make_shared<state>(std::move(value), num_epochs)) {}

  /// The value; empty when it was given as often as there are epochs. Never waits.
  [[nodiscard]] std::optional<T> take() const {
    if (!state_->limit.next()) return std::nullopt;
    return state_->value;
  }

  /// The same as a source: what stages of a pipeline are fed by. May outlive this object.
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

/// Of a literal: strings.
limit_epochs(const char*, std::optional<std::int64_t> = {}) -> limit_epochs<std::string>;

}  // namespace leat
