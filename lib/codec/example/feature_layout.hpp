#pragma once

#include <cstddef>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "codec/example/example_wire.hpp"
#include "codec/example/feature_columns.hpp"
#include "leat/codec/example/example_options.hpp"
#include "leat/codec/example/features.hpp"

namespace LEAT::detail {

/// Checked features, and the slots of the keys that they request from a record.
class feature_layout {
 public:
  /// `owner` begins the messages; `sequences`: the features belong to the steps of a
  /// SequenceExample.
  /// Errors: invalid_argument.
  feature_layout(feature_map features, std::string_view owner, const example_options& options,
                 bool sequences = false);

  [[nodiscard]] const feature_map& features() const noexcept { return features_; }
  /// Returns the number of requested keys.
  [[nodiscard]] std::size_t slots() const noexcept { return slots_.size(); }
  /// Returns the slot of the key of a record, or slots() if the key is not requested.
  /// Errors: malformed_message, if the options require UTF-8.
  [[nodiscard]] std::size_t find_slot(std::string_view key) const {
    if (options_.check_utf8) require_utf8(key);
    const auto found = slots_.find(key);
    return found == slots_.end() ? slots_.size() : found->second;
  }

  /// Returns a column for each feature, in the order of features().
  [[nodiscard]] std::vector<feature_column> make_columns(std::size_t records) const;

 private:
  void request_key(const std::string& key, dtype type, bool dense);
  void check(const std::string& key, const fixed_len_feature& f);
  void check(const std::string& key, const var_len_feature& f);
  void check(const std::string& key, const sparse_feature& f);
  void check(const std::string& key, const fixed_len_sequence_feature& f);
  void check(const std::string& key, const ragged_feature& f);
  void check_type(const std::string& key, dtype type) const;
  void check_shape(const std::string& key, const partial_shape& s) const;
  void check_default(const std::string& key, const tensor& value, dtype type,
                     std::size_t count) const;
  [[noreturn]] void throw_error(const std::string& key, const std::string& why) const;
  [[nodiscard]] wanted_key key(const std::string& text) const { return {text, find_slot(text)}; }

  struct use {
    dtype type;
    bool dense;
  };

  feature_map features_;
  std::string owner_;
  example_options options_;
  bool sequences_;
  std::map<std::string, std::size_t, std::less<>> slots_;
  std::vector<use> uses_;  // of each slot
};

/// Errors: invalid_argument unless a requested key is UTF-8.
void check_key(std::string_view owner, std::string_view key);
/// Errors: invalid_argument unless `names` is empty or has one name per record.
void check_names(std::string_view owner, std::span<const std::string_view> names,
                 std::size_t records);
[[nodiscard]] inline record_id make_record_id(std::size_t record,
                                              std::span<const std::string_view> names) {
  return {record, names.empty() ? std::string_view() : names[record]};
}

/// Returns the values of the columns, which are in the order of features().
template <class Column>
[[nodiscard]] parsed_features take_all(const feature_layout& plan, std::vector<Column>& columns,
                                       std::size_t records) {
  parsed_features::value_map values;
  for (auto column = columns.begin(); const auto& [name, f] : plan.features()) {
    values.emplace(name, std::visit([&](auto& c) { return c.take(records); }, *column++));
  }
  return parsed_features(std::move(values));
}

/// Finds the requested lists in maps from keys to features. It expects the keys of a record in the
/// order of the previous record first.
class feature_lookup {
 public:
  explicit feature_lookup(const feature_layout& plan) : plan_(plan), lists_(plan.slots()) {}

  /// Starts a record.
  void clear();
  /// Reads a Features message; the last value of a repeated key counts. Errors: malformed_message.
  void add_features(std::string_view features);
  /// Returns the lists found since clear().
  [[nodiscard]] record_lists lists() const noexcept { return lists_; }

 private:
  std::size_t find_slot(std::string_view key, std::size_t position);
  std::size_t search_slot(std::string_view key, std::size_t position);

  const feature_layout& plan_;
  std::vector<feature_list> lists_;
  std::vector<std::pair<std::string, std::size_t>> expected_;  // keys by position, and their slots
  joined_bytes joined_;  // of all records, because the columns refer to them
};

}  // namespace LEAT::detail
