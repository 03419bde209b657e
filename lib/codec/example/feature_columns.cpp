#include "codec/example/feature_columns.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include "leat/codec/decode_error.hpp"
#include "tensor/internal/tensor_builder.hpp"

namespace LEAT::detail {
namespace {

// A column collects the values of all records of a call, with the counts that delimit the records
// where these differ; take() makes tensors of them and adds the padding. A record with an error may
// leave some of its values in the columns, which belong to the call and are discarded with it.

tensor index_table(std::size_t count, std::size_t rank) {
  return tensor_builder::values(dtype::int64, prepend_dimensions({count, rank}, {}));
}

}  // namespace

// ----------------------------------------------------------------------------------------- shared

std::string record_id::who() const {
  return name.empty() ? std::string() : " ('" + std::string(name) + "')";
}

void record_id::throw_error(std::string_view key, const std::string& why) const {
  const std::string where = step ? ", step " + std::to_string(*step) : std::string();
  throw decode_error(index, who() + ", feature '" + std::string(key) + "'" + where + ": " + why);
}

void record_id::throw_error(const malformed_message& error, byte_view record,
                            std::string_view type) const {
  throw decode_error(index,
                     who() + " is not a " + std::string(type) + ": " + to_text(error, record));
}

std::string value_count_text(std::string_view type, std::size_t count) {
  return std::to_string(count) + ' ' + std::string(type) + (count == 1 ? " value" : " values");
}

std::size_t count_values(const partial_shape& s) { return shape(s.dimensions()).count(); }

void throw_kind_error(const record_id& id, std::string_view key, feature_kind kind, dtype type) {
  id.throw_error(key, "has type " + std::string(to_string(kind)) + ", must have " +
                          std::string(to_string(type)));
}

void throw_missing_error(const record_id& id, std::string_view key, dtype type,
                         std::string_view advice) {
  id.throw_error(key, "required feature of type " + std::string(to_string(type)) +
                          " is missing: " + std::string(advice) + " if it is optional");
}

void throw_count_error(const record_id& id, std::string_view key, dtype type, std::size_t count,
                       std::size_t wanted, const partial_shape& shape) {
  id.throw_error(key, "has " + value_count_text(to_string(type), count) + ", must have " +
                          std::to_string(wanted) + " for the shape " + to_string(shape));
}

tensor int_vector(std::span<const std::int64_t> values) {
  return tensor::of<std::int64_t>({static_cast<std::int64_t>(values.size())}, values);
}

shape prepend_dimensions(std::initializer_list<std::size_t> dimensions,
                         const partial_shape& inner) {
  std::vector<std::int64_t> all;
  for (const std::size_t d : dimensions) all.push_back(static_cast<std::int64_t>(d));
  const auto rest = inner.dimensions();
  all.insert(all.end(), rest.begin(), rest.end());
  return shape(all);
}

// ------------------------------------------------------------------------------------------ dense

dense_column::dense_column(wanted_key key, const fixed_len_feature& feature, std::size_t records)
    : key_(std::move(key)),
      feature_(feature),
      per_record_(count_values(feature.shape)),
      values_(feature.type, records * per_record_) {}

void dense_column::add(const record_id& id, record_lists lists) {
  const feature_list& list = lists[key_.slot];
  if (list.kind == feature_kind::none) {
    add_default(id);
    return;
  }
  const std::size_t count = add_list(values_, list, id, key_.text);
  require_count(id, key_.text, feature_.type, count, per_record_, feature_.shape);
}

void dense_column::add_default(const record_id& id) {
  if (!feature_.default_value) {
    throw_missing_error(id, key_.text, feature_.type, "set a default_value");
  }
  values_.add(*feature_.default_value);
}

parsed_features::value dense_column::take(std::size_t records) {
  return values_.take(prepend_dimensions({records}, feature_.shape));
}

// -------------------------------------------------------------------------------- variable length

var_len_column::var_len_column(wanted_key key, const var_len_feature& feature, std::size_t records)
    : key_(std::move(key)), values_(feature.type) {
  counts_.reserve(records);
}

void var_len_column::add(const record_id& id, record_lists lists) {
  counts_.push_back(add_list(values_, lists[key_.slot], id, key_.text));
}

parsed_features::value var_len_column::take(std::size_t records) {
  tensor indices = index_table(values_.count(), 2);
  auto out = indices.mutable_values<std::int64_t>().begin();
  std::size_t longest = 0;
  for (std::size_t record = 0; record < records; ++record) {
    longest = std::max(longest, counts_[record]);
    for (std::size_t position = 0; position < counts_[record]; ++position) {
      *out++ = static_cast<std::int64_t>(record);
      *out++ = static_cast<std::int64_t>(position);
    }
  }
  const std::int64_t dense[] = {static_cast<std::int64_t>(records),
                                static_cast<std::int64_t>(longest)};
  return sparse_tensor{std::move(indices), values_.take(prepend_dimensions({values_.count()}, {})),
                       int_vector(dense)};
}

// ----------------------------------------------------------------------------------------- sparse

sparse_column::sparse_column(wanted_key value_key, std::vector<wanted_key> index_keys,
                             const sparse_feature& feature)
    : value_key_(std::move(value_key)),
      index_keys_(std::move(index_keys)),
      feature_(feature),
      values_(feature.type),
      values_of_record_(feature.type),
      indices_of_record_(index_keys_.size(), value_column(dtype::int64)) {}

void sparse_column::add(const record_id& id, record_lists lists) {
  values_of_record_.clear();
  const std::size_t count =
      add_list(values_of_record_, lists[value_key_.slot], id, value_key_.text);
  for (std::size_t d = 0; d < index_keys_.size(); ++d) {
    const wanted_key& key = index_keys_[d];
    indices_of_record_[d].clear();
    const std::size_t found = add_list(indices_of_record_[d], lists[key.slot], id, key.text);
    if (found == count) continue;
    id.throw_error(key.text, "has " + value_count_text("int64", found) + " as indices, but '" +
                                 value_key_.text + "' has " + std::to_string(count) + " values");
  }
  check_indices(id, count);
  add_in_order(id, count);
}

void sparse_column::check_indices(const record_id& id, std::size_t count) const {
  for (std::size_t d = 0; d < index_keys_.size(); ++d) {
    for (std::size_t i = 0; i < count; ++i) {
      if (index(i, d) >= 0 && index(i, d) < feature_.size[d]) continue;
      id.throw_error(index_keys_[d].text, "index " + std::to_string(index(i, d)) +
                                              " is out of range for size " +
                                              std::to_string(feature_.size[d]));
    }
  }
}

void sparse_column::add_in_order(const record_id& id, std::size_t count) {
  order_.resize(count);
  std::iota(order_.begin(), order_.end(), std::size_t{0});
  if (!feature_.already_sorted) {
    std::ranges::sort(order_, [this](std::size_t a, std::size_t b) {
      for (std::size_t d = 0; d < index_keys_.size(); ++d) {
        if (index(a, d) != index(b, d)) return index(a, d) < index(b, d);
      }
      return a < b;
    });
  }
  for (const std::size_t i : order_) {
    indices_.push_back(static_cast<std::int64_t>(id.index));
    for (std::size_t d = 0; d < index_keys_.size(); ++d) indices_.push_back(index(i, d));
    values_.add(values_of_record_, i, 1);
  }
}

parsed_features::value sparse_column::take(std::size_t records) {
  const std::size_t rank = 1 + index_keys_.size();
  std::vector<std::int64_t> dense = {static_cast<std::int64_t>(records)};
  dense.insert(dense.end(), feature_.size.begin(), feature_.size.end());
  tensor indices = index_table(values_.count(), rank);
  std::ranges::copy(indices_, indices.mutable_values<std::int64_t>().begin());
  return sparse_tensor{std::move(indices), values_.take(prepend_dimensions({values_.count()}, {})),
                       int_vector(dense)};
}

// --------------------------------------------------------------------------------------- sequence

sequence_column::sequence_column(wanted_key key, const fixed_len_sequence_feature& feature,
                                 std::size_t records)
    : key_(std::move(key)),
      feature_(feature),
      per_row_(count_values(feature.shape)),
      values_(feature.type) {
  rows_.reserve(records);
}

void sequence_column::add(const record_id& id, record_lists lists) {
  const std::size_t count = add_list(values_, lists[key_.slot], id, key_.text);
  if (count % per_row_ != 0) {
    id.throw_error(key_.text, "has " + value_count_text(to_string(feature_.type), count) +
                                  ", must have a multiple of " + std::to_string(per_row_) +
                                  " for rows of the shape " + to_string(feature_.shape));
  }
  rows_.push_back(count / per_row_);
}

parsed_features::value sequence_column::take(std::size_t) {
  return stack_rows(values_, rows_, per_row_, feature_);
}

tensor stack_rows(value_column& values, std::span<const std::size_t> rows, std::size_t per_row,
                  const fixed_len_sequence_feature& feature) {
  const std::size_t longest = rows.empty() ? 0 : std::ranges::max(rows);
  shape s = prepend_dimensions({rows.size(), longest}, feature.shape);
  // No record needs padding: take() may pass the memory on without a copy.
  if (std::ranges::all_of(rows, [&](std::size_t r) { return r == longest; })) {
    return values.take(std::move(s));
  }
  const tensor filler = feature.default_value ? *feature.default_value : tensor(feature.type, {});
  value_column filled(feature.type, s.count());
  std::size_t first = 0;
  for (const std::size_t r : rows) {
    filled.add(values, first, r * per_row);
    filled.pad(filler, (longest - r) * per_row);
    first += r * per_row;
  }
  return filled.take(std::move(s));
}

// ------------------------------------------------------------------------------------- one record

namespace {

struct without_records {
  parsed_features::value operator()(const tensor& dense) const {
    return tensor_builder::in_shape(dense, shape(dense.shape().dimensions().subspan(1)));
  }
  parsed_features::value operator()(const sparse_tensor& sparse) const {
    const auto count = static_cast<std::size_t>(sparse.indices.shape()[0]);
    const auto rank = static_cast<std::size_t>(sparse.indices.shape()[1]);
    const auto from = sparse.indices.values<std::int64_t>();
    tensor indices = index_table(count, rank - 1);
    auto out = indices.mutable_values<std::int64_t>().begin();
    for (std::size_t i = 0; i < count; ++i) {
      out = std::ranges::copy(from.subspan(i * rank + 1, rank - 1), out).out;
    }
    return sparse_tensor{std::move(indices), sparse.values,
                         int_vector(sparse.dense_shape.values<std::int64_t>().subspan(1))};
  }
  parsed_features::value operator()(const ragged_tensor& ragged) const {
    if (ragged.row_splits.size() == 1) return ragged.values;
    return ragged_tensor{{ragged.row_splits.begin() + 1, ragged.row_splits.end()}, ragged.values};
  }
};

}  // namespace

parsed_features drop_record_dimension(const parsed_features& batch) {
  parsed_features::value_map values;
  for (const auto& [name, v] : batch.values())
    values.emplace(name, std::visit(without_records(), v));
  return parsed_features(std::move(values));
}

}  // namespace LEAT::detail
