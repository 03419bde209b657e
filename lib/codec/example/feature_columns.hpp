#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "codec/example/example_wire.hpp"
#include "codec/example/value_column.hpp"
#include "leat/codec/example/features.hpp"

namespace LEAT::detail {

/// Identifies the current record for messages.
struct record_id {
  std::size_t index;
  std::string_view name;
  std::optional<std::size_t> step = {};  // in a sequence

  /// Throws a decode_error; `key`: of the feature.
  [[noreturn]] void throw_error(std::string_view key, const std::string& why) const;
  /// Overload for a record that is not a valid message. `type`: of the message.
  [[noreturn]] void throw_error(const malformed_message& error, byte_view record,
                                std::string_view type) const;

 private:
  [[nodiscard]] std::string who() const;
};

/// The lists of one record, one for each requested key, in the order of the slots.
using record_lists = std::span<const feature_list>;

/// A requested key: its text, and the slot of its list in record_lists.
struct wanted_key {
  std::string text;
  std::size_t slot;
};

// A column collects the values of one feature, record by record. Each has
//   add(id, lists)    adds the next record. Errors: decode_error, malformed_message
//   take(records)     returns the values of `records` records and empties the column

/// The column of a fixed_len_feature.
class dense_column {
 public:
  /// `records`: the expected number of records. The feature must outlive this object.
  dense_column(wanted_key key, const fixed_len_feature& feature, std::size_t records);
  void add(const record_id& id, record_lists lists);
  parsed_features::value take(std::size_t records);

 private:
  void add_default(const record_id& id);

  wanted_key key_;
  const fixed_len_feature& feature_;
  std::size_t per_record_;
  value_column values_;
};

/// The column of a var_len_feature.
class var_len_column {
 public:
  var_len_column(wanted_key key, const var_len_feature& feature, std::size_t records);
  void add(const record_id& id, record_lists lists);
  parsed_features::value take(std::size_t records);

 private:
  wanted_key key_;
  value_column values_;
  std::vector<std::size_t> counts_;  // of each record
};

/// The column of a sparse_feature.
class sparse_column {
 public:
  sparse_column(wanted_key value_key, std::vector<wanted_key> index_keys,
                const sparse_feature& feature);
  void add(const record_id& id, record_lists lists);
  parsed_features::value take(std::size_t records);

 private:
  void check_indices(const record_id& id, std::size_t count) const;
  void add_in_order(const record_id& id, std::size_t count);
  [[nodiscard]] std::int64_t index(std::size_t value, std::size_t dimension) const {
    return indices_of_record_[dimension].ints()[value];
  }

  wanted_key value_key_;
  std::vector<wanted_key> index_keys_;
  const sparse_feature& feature_;
  value_column values_;
  std::vector<std::int64_t> indices_;
  // State of the current record.
  value_column values_of_record_;
  std::vector<value_column> indices_of_record_;
  std::vector<std::size_t> order_;
};

/// The column of a fixed_len_sequence_feature.
class sequence_column {
 public:
  sequence_column(wanted_key key, const fixed_len_sequence_feature& feature, std::size_t records);
  void add(const record_id& id, record_lists lists);
  parsed_features::value take(std::size_t records);

 private:
  wanted_key key_;
  const fixed_len_sequence_feature& feature_;
  std::size_t per_row_;
  value_column values_;
  std::vector<std::size_t> rows_;  // of each record
};

/// The column of a ragged_feature.
class partitioned_column {
 public:
  /// `partition_keys`: one per partition, also if it has no key. The feature must outlive this
  /// object.
  partitioned_column(wanted_key value_key, std::vector<wanted_key> partition_keys,
                     const ragged_feature& feature);
  void add(const record_id& id, record_lists lists);
  parsed_features::value take(std::size_t records);

 private:
  class row_writer;

  std::int64_t add_rows(const record_id& id, record_lists lists, std::size_t partition,
                        std::int64_t items);
  void add_ends(row_writer& rows, ragged_partition::kind how,
                std::span<const std::int64_t> numbers) const;
  [[nodiscard]] tensor make_splits(std::span<const std::int64_t> splits) const;

  wanted_key value_key_;
  std::vector<wanted_key> partition_keys_;
  const ragged_feature& feature_;
  std::size_t levels_;  // partitions that are not dimensions of an item
  std::size_t values_of_item_ = 1;
  value_column values_;
  std::vector<std::vector<std::int64_t>> splits_;  // of the records, then of each level
  value_column numbers_;                           // of a partition of the current record
};

using feature_column =
    std::variant<dense_column, var_len_column, sparse_column, sequence_column, partitioned_column>;

[[noreturn]] void throw_kind_error(const record_id& id, std::string_view key, feature_kind kind,
                                   dtype type);
/// Adds the list of a feature of any length. Returns the number of its values: 0 if the feature is
/// missing. Errors: decode_error for another kind; malformed_message.
inline std::size_t add_list(value_column& values, const feature_list& list, const record_id& id,
                            std::string_view key) {
  if (list.kind == values.kind()) return values.add(list.list);
  if (list.kind == feature_kind::none) return 0;
  throw_kind_error(id, key, list.kind, values.type());
}

/// `advice`: the remedy if the feature may be missing.
[[noreturn]] void throw_missing_error(const record_id& id, std::string_view key, dtype type,
                                      std::string_view advice);
[[noreturn]] void throw_count_error(const record_id& id, std::string_view key, dtype type,
                                    std::size_t count, std::size_t wanted,
                                    const partial_shape& shape);
/// Errors: decode_error unless a feature of a fixed shape has the number of values of this shape.
inline void require_count(const record_id& id, std::string_view key, dtype type, std::size_t count,
                          std::size_t wanted, const partial_shape& shape) {
  if (count != wanted) throw_count_error(id, key, type, count, wanted, shape);
}

/// The rows of each record, padded to the largest number of rows.
[[nodiscard]] tensor stack_rows(value_column& values, std::span<const std::size_t> rows,
                                std::size_t per_row, const fixed_len_sequence_feature& feature);

/// "3 int64 values".
[[nodiscard]] std::string value_count_text(std::string_view type, std::size_t count);

/// Returns the number of values of a known shape.
[[nodiscard]] std::size_t count_values(const partial_shape& s);

/// Returns a shape with further dimensions before it.
[[nodiscard]] shape prepend_dimensions(std::initializer_list<std::size_t> dimensions,
                                       const partial_shape& inner);

/// Returns numbers as a tensor of one dimension.
[[nodiscard]] tensor int_vector(std::span<const std::int64_t> values);

/// Returns the value of one record from a batch of one.
[[nodiscard]] parsed_features drop_record_dimension(const parsed_features& batch);

}  // namespace LEAT::detail
