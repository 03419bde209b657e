#pragma once

#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>

namespace leat {

namespace detail {

/// Writes the entries of a map from keys to Features, or to lists of them.
class feature_writer {
 public:
  void add(std::string_view key, std::span<const float> values);
  void add(std::string_view key, std::span<const std::int64_t> values);
  void add(std::string_view key, std::span<const std::string_view> values);
  void add_without_kind(std::string_view key);

  /// The map as a field of a message; nothing when it is empty.
  void append_to(std::string& message, std::uint32_t number) const;
  void clear() noexcept { entries_.clear(); }

 private:
  void add_entry(std::string_view key);

  std::string entries_;
  std::string feature_;  // the present one
  std::string list_;
};

}  // namespace detail

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
  example_builder& add(std::string_view key, std::span<const float> values);
  example_builder& add(std::string_view key, std::span<const std::int64_t> values);
  example_builder& add(std::string_view key, std::span<const std::string_view> values);
  example_builder& add(std::string_view key, std::initializer_list<float> values) {
    return add(key, std::span(values.begin(), values.size()));
  }
  example_builder& add(std::string_view key, std::initializer_list<std::int64_t> values) {
    return add(key, std::span(values.begin(), values.size()));
  }
  example_builder& add(std::string_view key, std::initializer_list<std::string_view> values) {
    return add(key, std::span(values.begin(), values.size()));
  }
  /// Adds a feature without a kind, which readers take as missing.
  example_builder& add_without_kind(std::string_view key);

  /// The message.
  [[nodiscard]] std::string serialize() const;
  /// Begins anew, with the memory of before.
  void clear() noexcept { features_.clear(); }

 private:
  detail::feature_writer features_;
};

}  // namespace leat
