#pragma once

#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>

#include "leat/base/flavour.hpp"
#include "leat/base/internal/range_concepts.hpp"

namespace LEAT {

namespace detail {

/// An integer type that a feature accepts. Characters and bytes are excluded, because a range of
/// them could be text.
template <class T>
concept feature_integer =
    std::same_as<T, short> || std::same_as<T, unsigned short> || std::same_as<T, int> ||
    std::same_as<T, unsigned> || std::same_as<T, long> || std::same_as<T, unsigned long> ||
    std::same_as<T, long long> || std::same_as<T, unsigned long long>;

}  // namespace detail

/// The values of a feature to write: floats, integers, strings, or no kind, which readers treat as
/// missing. A list such as `{7}` or a contiguous range converts to it. Doubles become floats, and
/// integers of any type become std::int64_t.
///
/// `{}` does not compile, because its kind is unknown. Write `std::vector<float>()` for 0 values of
/// a kind, or `feature_values()` for no kind.
///
/// A value type. Errors: std::bad_alloc; invalid_argument for an integer above 2^63 - 1.
class feature_values {
 public:
  /// Creates a feature without a kind.
  explicit feature_values() noexcept = default;
  feature_values(std::initializer_list<float> list);
  feature_values(std::initializer_list<double> list);
  feature_values(std::initializer_list<int> list);
  template <detail::feature_integer Integer>
  feature_values(std::initializer_list<Integer> list) {
    set(std::span(list));
  }
  feature_values(std::initializer_list<std::string_view> list);
  template <std::convertible_to<std::span<const float>> Range>
  feature_values(const Range& range) {
    set(std::span<const float>(range));
  }
  template <std::convertible_to<std::span<const double>> Range>
  feature_values(const Range& range) {
    set(std::span<const double>(range));
  }
  template <std::ranges::contiguous_range Range>
    requires(detail::feature_integer<std::ranges::range_value_t<const Range>>)
  feature_values(const Range& range) {
    set(std::span<const std::ranges::range_value_t<const Range>>(range));
  }
  template <std::convertible_to<std::span<const std::string_view>> Range>
  feature_values(const Range& range) {
    set(std::span<const std::string_view>(range));
  }
  template <std::convertible_to<std::span<const std::string>> Range>
  feature_values(const Range& range) {
    set(std::span<const std::string>(range));
  }

  /// Returns a serialized tf.train.Feature; empty if the feature has no kind.
  [[nodiscard]] const std::string& serialized() const noexcept { return feature_; }

 private:
  template <detail::feature_integer Integer>
  void set(std::span<const Integer> values);
  void set(std::span<const float> values);
  void set(std::span<const double> values);
  void set(std::span<const std::string_view> values);
  void set(std::span<const std::string> values);

  std::string feature_;
};

/// Builds serialized tf.train.Example messages.
///
///     leat::example_builder example;
///     example.add("label", {7}).add("image", {pixels});
///     co_await writer.write(leat::as_bytes(example.serialize()));
///
/// The message contains the features in the order in which they were added. Its bytes are those
/// that protobuf writes for the same order; lists of numbers are packed.
///
/// Thread safety: thread-compatible.
/// Errors: invalid_argument for a key that is not UTF-8, because readers refuse it. std::bad_alloc.
class example_builder {
 public:
  /// Adds a feature. Add each key only once: if a key occurs again, readers use the last feature.
  example_builder& add(std::string_view key, const feature_values& values);

  /// Returns the message; empty if no feature was added.
  [[nodiscard]] std::string serialize() const;
  /// Removes all features and keeps the memory for the next message.
  void clear() noexcept { features_.clear(); }

 private:
  std::string features_;
};

/// Builds serialized tf.train.SequenceExample messages.
///
///     leat::sequence_example_builder example;
///     example.context("id", {7});
///     example.list("words").step({"the"}).step({"whole", "text"});
///
/// Thread safety: thread-compatible.
/// Errors: invalid_argument for a key that is not UTF-8, because readers refuse it. std::bad_alloc.
class sequence_example_builder {
 public:
  /// Adds a feature to the context.
  sequence_example_builder& context(std::string_view key, const feature_values& values);
  /// Starts a list of features.
  sequence_example_builder& list(std::string_view key);
  /// Adds a feature to the list that was started last.
  ///
  /// Errors: failed_precondition, if no list was started.
  sequence_example_builder& step(const feature_values& values);

  /// Returns the message; empty if nothing was added.
  [[nodiscard]] std::string serialize() const;
  /// Removes the context and all lists, and keeps the memory for the next message.
  void clear() noexcept;

 private:
  void append_list(std::string& lists) const;

  std::string context_;
  std::string lists_;  // without the current list
  std::string key_;    // of the current list, if there is one
  std::string steps_;
  bool in_list_ = false;
};

}  // namespace LEAT
