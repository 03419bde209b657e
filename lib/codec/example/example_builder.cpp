#include "leat/codec/example/example_builder.hpp"

#include <ranges>
#include <utility>

#include <protozero/pbf_writer.hpp>

#include "base/text/utf8.hpp"
#include "codec/excerpt.hpp"
#include "leat/base/error.hpp"

namespace LEAT {
namespace {

using protozero::pbf_writer;

// Fields of a Feature, of an entry of a map, and of a SequenceExample.
enum kind : std::uint32_t { bytes_list = 1, float_list = 2, int64_list = 3 };
enum entry : std::uint32_t { key_field = 1, value_field = 2 };
enum part : std::uint32_t { context_field = 1, lists_field = 2 };
constexpr std::uint32_t only = 1;  // of messages with one field

// The list of a Feature, which has only this list.
void set_list(std::string& feature, kind what, const std::string& list) {
  pbf_writer(feature).add_message(what, list);
}

template <class Range>
void set_floats(std::string& feature, const Range& values) {
  std::string list;
  pbf_writer(list).add_packed_float(only, values.begin(), values.end());
  set_list(feature, float_list, list);
}

template <class Integer>
std::int64_t to_int64(Integer value) {
  if (!std::in_range<std::int64_t>(value)) {
    throw failure(errc::invalid_argument,
                  "feature_values: " + std::to_string(value) +
                      " is above the maximum of int64, 9223372036854775807");
  }
  return static_cast<std::int64_t>(value);
}

template <class Range>
void set_strings(std::string& feature, const Range& values) {
  std::string list;
  pbf_writer out(list);
  for (const std::string_view v : values) out.add_bytes(only, v.data(), v.size());
  set_list(feature, bytes_list, list);
}

// Readers refuse a record with another key.
void check_key(std::string_view key) {
  if (detail::is_utf8(key)) return;
  throw failure(errc::invalid_argument,
                "example_builder: key " + detail::excerpt(key) + " is not UTF-8");
}

void add_entry(std::string& map, std::string_view key, const std::string& value) {
  std::string e;
  pbf_writer out(e);
  out.add_bytes(key_field, key.data(), key.size());
  out.add_message(value_field, value);
  pbf_writer(map).add_message(only, e);
}

void add_unless_empty(std::string& message, std::uint32_t field, const std::string& map) {
  if (!map.empty()) pbf_writer(message).add_message(field, map);
}

}  // namespace

feature_values::feature_values(std::initializer_list<float> list) { set(std::span(list)); }
feature_values::feature_values(std::initializer_list<double> list) { set(std::span(list)); }
feature_values::feature_values(std::initializer_list<int> list) { set(std::span(list)); }
feature_values::feature_values(std::initializer_list<std::string_view> list) {
  set(std::span(list));
}

void feature_values::set(std::span<const float> values) { set_floats(feature_, values); }
void feature_values::set(std::span<const double> values) {
  const auto narrow = [](double value) { return static_cast<float>(value); };
  set_floats(feature_, values | std::views::transform(narrow));
}
template <detail::feature_integer Integer>
void feature_values::set(std::span<const Integer> values) {
  const auto integers = values | std::views::transform(&to_int64<Integer>);
  std::string list;
  pbf_writer(list).add_packed_int64(only, integers.begin(), integers.end());
  set_list(feature_, int64_list, list);
}
template void feature_values::set(std::span<const short>);
template void feature_values::set(std::span<const unsigned short>);
template void feature_values::set(std::span<const int>);
template void feature_values::set(std::span<const unsigned>);
template void feature_values::set(std::span<const long>);
template void feature_values::set(std::span<const unsigned long>);
template void feature_values::set(std::span<const long long>);
template void feature_values::set(std::span<const unsigned long long>);
void feature_values::set(std::span<const std::string_view> values) {
  set_strings(feature_, values);
}
void feature_values::set(std::span<const std::string> values) { set_strings(feature_, values); }

example_builder& example_builder::add(std::string_view key, const feature_values& values) {
  check_key(key);
  add_entry(features_, key, values.serialized());
  return *this;
}

std::string example_builder::serialize() const {
  std::string message;
  add_unless_empty(message, only, features_);
  return message;
}

sequence_example_builder& sequence_example_builder::context(std::string_view key,
                                                            const feature_values& values) {
  check_key(key);
  add_entry(context_, key, values.serialized());
  return *this;
}

sequence_example_builder& sequence_example_builder::list(std::string_view key) {
  check_key(key);
  append_list(lists_);
  key_ = key;
  steps_.clear();
  in_list_ = true;
  return *this;
}

sequence_example_builder& sequence_example_builder::step(const feature_values& values) {
  if (!in_list_) {
    throw failure(errc::failed_precondition,
                  "sequence_example_builder: step() without a list: call list() first");
  }
  pbf_writer(steps_).add_message(only, values.serialized());
  return *this;
}

void sequence_example_builder::append_list(std::string& lists) const {
  if (in_list_) add_entry(lists, key_, steps_);
}

std::string sequence_example_builder::serialize() const {
  std::string lists = lists_;
  append_list(lists);
  std::string message;
  add_unless_empty(message, context_field, context_);
  add_unless_empty(message, lists_field, lists);
  return message;
}

void sequence_example_builder::clear() noexcept {
  context_.clear();
  lists_.clear();
  steps_.clear();
  in_list_ = false;
}

}  // namespace LEAT
