#include "leat/codec/example_builder.hpp"

#include <algorithm>
#include <cstddef>

#include <protozero/pbf_writer.hpp>

namespace leat {
namespace detail {
namespace {

// The fields of a Feature, and of a map's entry.
enum kind : std::uint32_t { bytes_list = 1, float_list = 2, int64_list = 3 };
enum entry : std::uint32_t { key_field = 1, value_field = 2 };
constexpr std::uint32_t values_field = 1;  // of a list

void write_feature(std::string& feature, kind k, const std::string& list) {
  feature.clear();
  protozero::pbf_writer(feature).add_message(k, list);
}

}  // namespace

void feature_writer::add(std::string_view key, std::span<const float> values) {
  list_.clear();
  protozero::pbf_writer(list_).add_packed_float(values_field, values.begin(), values.end());
  write_feature(feature_, float_list, list_);
  add_entry(key);
}

void feature_writer::add(std::string_view key, std::span<const std::int64_t> values) {
  list_.clear();
  protozero::pbf_writer(list_).add_packed_int64(values_field, values.begin(), values.end());
  write_feature(feature_, int64_list, list_);
  add_entry(key);
}

void feature_writer::add(std::string_view key, std::span<const std::string_view> values) {
  list_.clear();
  protozero::pbf_writer list(list_);
  for (const std::string_view value : values) {
    list.add_bytes(values_field, value.data(), value.size());
  }
  write_feature(feature_, bytes_list, list_);
  add_entry(key);
}

void feature_writer::add_without_kind(std::string_view key) {
  feature_.clear();
  add_entry(key);
}

void feature_writer::add_entry(std::string_view key) {
  protozero::pbf_writer map(entries_);
  protozero::pbf_writer e(map, 1);
  e.add_bytes(key_field, key.data(), key.size());
  e.add_message(value_field, feature_);
}

void feature_writer::append_to(std::string& message, std::uint32_t number) const {
  if (!entries_.empty()) protozero::pbf_writer(message).add_message(number, entries_);
}

}  // namespace detail

example_builder& example_builder::add(std::string_view key, std::span<const float> values) {
  features_.add(key, values);
  return *this;
}

example_builder& example_builder::add(std::string_view key, std::span<const std::int64_t> values) {
  features_.add(key, values);
  return *this;
}

example_builder& example_builder::add(std::string_view key,
                                      std::span<const std::string_view> values) {
  features_.add(key, values);
  return *this;
}

example_builder& example_builder::add_without_kind(std::string_view key) {
  features_.add_without_kind(key);
  return *this;
}

std::string example_builder::serialize() const {
  std::string message;
  features_.append_to(message, 1);
  return message;
}

}  // namespace leat
