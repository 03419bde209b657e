#pragma once

#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <variant>

namespace leat {

/// The values of a feature that is to be written: floats, integers, strings, or no kind at all,
/// which readers take as missing. Views what it is made of.
class feature_values {
 public:
  using floats = std::span<const float>;
  using ints = std::span<const std::int64_t>;
  using strings = std::span<const std::string_view>;

  /// No kind.
  feature_values() noexcept = default;
  template <std::convertible_to<floats> Range>
  feature_values(const Range& values) noexcept : values_(floats(values)) {}
  template <std::convertible_to<ints> Range>
  feature_values(const Range& values) noexcept : values_(ints(values)) {}
  template <std::convertible_to<strings> Range>
  feature_values(const Range& values) noexcept : values_(strings(values)) {}
  feature_values(std::initializer_list<float> values) noexcept
      : values_(floats(values.begin(), values.size())) {}
  feature_values(std::initializer_list<std::int64_t> values) noexcept
      : values_(ints(values.begin(), values.size())) {}
  feature_values(std::initializer_list<std::string_view> values) noexcept
      : values_(strings(values.begin(), values.size())) {}

  /// The values, as what they are; std::monostate without a kind.
  [[nodiscard]] const std::variant<std::monostate, floats, ints, strings>& get() const noexcept {
    return values_;
  }

 private:
  std::variant<std::monostate, floats, ints, strings> values_;
};

/// Makes serialized tf.train.Example messages.
///
///     leat::example_builder example;
///     example.add("label", {std::int64_t{7}}).add("image", {std::string_view(pixels)});
///     co_await writer.write(leat::as_bytes(example.serialize()));
///
/// Features stand in the order in which they were added. The bytes are those of protobuf for the
/// same order: lists of numbers packed.
///
/// Thread safety: distinct-safe. Errors: std::bad_alloc.
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
///     example.context("id", {std::int64_t{7}});
///     example.list("words").step({"the"sv}).step({"whole"sv, "text"sv});
///
/// Thread safety: distinct-safe. Errors: std::bad_alloc.
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
