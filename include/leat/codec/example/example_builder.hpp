#pragma once

#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>

#include "leat/base/detail/range_concepts.hpp"

namespace leat {

namespace detail {

/// An integer that a feature can be made of. Characters and bytes in a range could be text.
template <class T>
concept feature_integer =
    std::same_as<T, short> || std::same_as<T, unsigned short> || std::same_as<T, int> ||
    std::same_as<T, unsigned> || std::same_as<T, long> || std::same_as<T, unsigned long> ||
    std::same_as<T, long long> || std::same_as<T, unsigned long long>;

}  // namespace detail

/// The values of a feature that is to be written: floats, integers, strings, or no kind at all,
/// which readers take as missing. Made of a list, as `{7}`, or of a contiguous range; doubles
/// become floats, and integers of any type std::int64_t.
///
/// `{}` does not compile, because it does not tell the kind: write `std::vector<float>()` for no
/// value of a kind, or `feature_values()` for no kind.
///
/// A value type. Errors: std::bad_alloc; invalid_argument for an integer above 2^63 - 1.
class feature_values {
 public:
  /// No kind.
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

  /// A serialized tf.train.Feature; no byte without a kind.
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

/// Makes serialized tf.train.Example messages.
///
///     leat::example_builder example;
///     example.add("label", {7}).add("image", {pixels});
///     co_await writer.write(leat::as_bytes(example.serialize()));
///
/// Features stand in the order in which they were added. The bytes are those of protobuf for the
/// same order: lists of numbers packed.
///
/// Thread safety: thread-compatible. Errors: std::bad_alloc.
class example_builder {
 public:
  /// Adds a feature. A key is added once; of one that comes again readers take the last.
  example_builder& add(std::string_view key, const feature_values& values);

  /// The message; no byte when nothing was added.
  [[nodiscard]] std::string serialize() const;
  /// Begins anew, with the memory of before.
  void clear() noexcept { features_.clear(); }

 private:
  std::string features_;
};

/// Makes serialized tf.train.SequenceExample messages.
///
///     leat::sequence_example_builder example;
///     example.context("id", {7});
///     example.list("words").step({"the"}).step({"whole", "text"});
///
/// Thread safety: thread-compatible. Errors: std::bad_alloc.
class sequence_example_builder {
 public:
  /// Adds a feature of the whole.
  sequence_example_builder& context(std::string_view key, const feature_values& values);
  /// Begins a list of features.
  sequence_example_builder& list(std::string_view key);
  /// Adds a feature to the list that was begun last.
  /// Errors: failed_precondition when there is none.
  sequence_example_builder& step(const feature_values& values);

  /// The message; no byte when nothing was added.
  [[nodiscard]] std::string serialize() const;
  /// Begins anew, with the memory of before.
  void clear() noexcept;

 private:
  void append_list(std::string& lists) const;

  std::string context_;
  std::string lists_;  // without the present one
  std::string key_;    // of the present one, when there is one
  std::string steps_;
  bool in_list_ = false;
};

}  // namespace leat
