#include "codec/example/feature_layout.hpp"

#include <algorithm>
#include <cstdint>

#include "codec/excerpt.hpp"
#include "leat/base/error.hpp"

namespace LEAT::detail {

// ------------------------------------------------------------------------------------------- plan

feature_layout::feature_layout(feature_map features, std::string_view owner,
                               const example_options& options, bool sequences)
    : features_(std::move(features)), owner_(owner), options_(options), sequences_(sequences) {
  for (const auto& [key, f] : features_) {
    std::visit([&, &name = key](const auto& one) { check(name, one); }, f);
  }
}

void feature_layout::throw_error(const std::string& key, const std::string& why) const {
  throw failure(errc::invalid_argument, owner_ + ", feature '" + key + "': " + why);
}

void feature_layout::request_key(const std::string& key, dtype type, bool dense) {
  if (options_.check_utf8) check_key(owner_, key);
  const auto [at, added] = slots_.try_emplace(key, slots_.size());
  if (added) {
    uses_.push_back({type, dense});
    return;
  }
  const use& before = uses_[at->second];
  if (before.type != type) {
    throw_error(key, "requested as " + std::string(leat::to_string(before.type)) + " and as " +
                         std::string(leat::to_string(type)));
  }
  if (before.dense || dense) throw_error(key, "requested both dense and sparse");
}

void feature_layout::check_type(const std::string& key, dtype type) const {
  if (kind_of(type) != feature_kind::none) return;
  throw_error(
      key, "type is " + std::string(leat::to_string(type)) + ", must be float32, int64 or string");
}

void feature_layout::check_shape(const std::string& key, const partial_shape& s) const {
  if (s.is_fully_defined()) return;
  std::string why = "shape is " + to_string(s) + ", must be fully defined";
  if (s.has_rank() && s[0] == unknown_dimension) {
    why += ": use fixed_len_sequence_feature for a first dimension of any size";
  }
  throw_error(key, why);
}

void feature_layout::check_default(const std::string& key, const tensor& value, dtype type,
                                   std::size_t count) const {
  if (value.type() != type) {
    throw_error(key, "default_value has type " + std::string(leat::to_string(value.type())) +
                         ", must have " + std::string(leat::to_string(type)));
  }
  if (value.count() == count) return;
  throw_error(key, "default_value has " + std::to_string(value.count()) + " values, must have " +
                       std::to_string(count));
}

void feature_layout::check(const std::string& key, const fixed_len_feature& f) {
  if (sequences_) {
    throw_error(key,
                "fixed_len_feature is not supported in a sequence: use fixed_len_sequence_feature");
  }
  check_type(key, f.type);
  check_shape(key, f.shape);
  if (f.default_value) {
    check_default(key, *f.default_value, f.type, count_values(f.shape));
  }
  request_key(key, f.type, true);
}

void feature_layout::check(const std::string& key, const var_len_feature& f) {
  check_type(key, f.type);
  request_key(key, f.type, false);
}

void feature_layout::check(const std::string& key, const sparse_feature& f) {
  if (sequences_) throw_error(key, "sparse_feature is not supported in a sequence");
  check_type(key, f.type);
  if (f.value_key.empty()) throw_error(key, "value_key is empty");
  if (f.index_keys.empty()) throw_error(key, "index_keys is empty");
  if (f.size.size() != f.index_keys.size()) {
    throw_error(key, "size has " + std::to_string(f.size.size()) + " values for " +
                         std::to_string(f.index_keys.size()) + " index_keys");
  }
  if (std::ranges::any_of(f.size, [](std::int64_t s) { return s < 0; })) {
    throw_error(key, "size has a negative value");
  }
  request_key(f.value_key, f.type, false);
  for (const std::string& index : f.index_keys) request_key(index, dtype::int64, false);
}

void feature_layout::check(const std::string& key, const fixed_len_sequence_feature& f) {
  check_type(key, f.type);
  check_shape(key, f.shape);
  if (count_values(f.shape) == 0) {
    throw_error(
        key, "shape " + to_string(f.shape) + " has no values: the number of rows would be unknown");
  }
  if (!f.allow_missing && !sequences_) {
    throw_error(
        key,
        "allow_missing must be true, because a sequence without rows is omitted from an Example");
  }
  if (f.default_value) check_default(key, *f.default_value, f.type, 1);
  request_key(key, f.type, true);
}

void feature_layout::check(const std::string& key, const ragged_feature& f) {
  if (sequences_) throw_error(key, "ragged_feature is not supported in a sequence");
  check_type(key, f.type);
  if (f.row_splits_type != dtype::int32 && f.row_splits_type != dtype::int64) {
    throw_error(key, "row_splits_type is " + std::string(leat::to_string(f.row_splits_type)) +
                         ", must be int32 or int64");
  }
  if (f.value_key && f.value_key->empty()) {
    throw_error(key, "value_key is empty: leave it unset to use the name of the feature");
  }
  request_key(f.value_key.value_or(key), f.type, false);
  std::int64_t product = 1;
  for (const ragged_partition& p : f.partitions) {
    if (p.how == ragged_partition::uniform_row_length) {
      if (p.length < 1 || p.length > INT64_MAX / product) {
        throw_error(key, "uniform_row_length is " + std::to_string(p.length) + ", must be 1 to " +
                             std::to_string(INT64_MAX / product));
      }
      product *= p.length;
    } else {
      if (p.key.empty()) throw_error(key, "partition has no key");
      request_key(p.key, dtype::int64, false);
    }
  }
}

std::vector<feature_column> feature_layout::make_columns(std::size_t records) const {
  struct maker {
    const feature_layout& plan;
    const std::string& name;
    std::size_t records;

    feature_column operator()(const sparse_feature& f) const {
      std::vector<wanted_key> indices;
      for (const std::string& index : f.index_keys) indices.push_back(plan.key(index));
      return sparse_column(plan.key(f.value_key), std::move(indices), f);
    }
    feature_column operator()(const fixed_len_feature& f) const {
      return dense_column(plan.key(name), f, records);
    }
    feature_column operator()(const var_len_feature& f) const {
      return var_len_column(plan.key(name), f, records);
    }
    feature_column operator()(const fixed_len_sequence_feature& f) const {
      return sequence_column(plan.key(name), f, records);
    }
    feature_column operator()(const ragged_feature& f) const {
      std::vector<wanted_key> partitions;
      for (const ragged_partition& p : f.partitions) partitions.push_back(plan.key(p.key));
      return partitioned_column(plan.key(f.value_key.value_or(name)), std::move(partitions), f);
    }
  };
  std::vector<feature_column> columns;
  columns.reserve(features_.size());
  for (const auto& [name, f] : features_)
    columns.push_back(std::visit(maker{*this, name, records}, f));
  return columns;
}

void check_key(std::string_view owner, std::string_view key) {
  if (is_utf8(key)) return;
  throw failure(errc::invalid_argument,
                std::string(owner) + ": key " + excerpt(key) +
                    " is not UTF-8: set example_options::check_utf8 to false to read such keys");
}

void check_names(std::string_view owner, std::span<const std::string_view> names,
                 std::size_t records) {
  if (names.empty() || names.size() == records) return;
  throw failure(errc::invalid_argument, std::string(owner) + ": " + std::to_string(names.size()) +
                                            " names for " + std::to_string(records) + " records");
}

// ----------------------------------------------------------------------------------------- finder

void feature_lookup::clear() {
  for (feature_list& list : lists_) list.kind = feature_kind::none;
}

inline std::size_t feature_lookup::find_slot(std::string_view key, std::size_t position) {
  // search_slot() has checked an expected key already, when it stored it.
  if (position < expected_.size() && same_key(expected_[position].first, key)) {
    return expected_[position].second;
  }
  return search_slot(key, position);
}

std::size_t feature_lookup::search_slot(std::string_view key, std::size_t position) {
  const std::size_t slot = plan_.find_slot(key);
  // A limit, because a record decides how many keys it has.
  constexpr std::size_t max_expected = 1024;
  if (position < max_expected) {
    if (position >= expected_.size()) expected_.resize(position + 1);
    expected_[position].first.assign(key);
    expected_[position].second = slot;
  }
  return slot;
}

void feature_lookup::add_features(std::string_view features) {
  std::size_t position = 0;
  for_each_feature(features, joined_, [&](std::string_view key, const auto& read) {
    const std::size_t slot = find_slot(key, position++);
    if (slot < lists_.size()) lists_[slot] = read();
  });
}

}  // namespace LEAT::detail
