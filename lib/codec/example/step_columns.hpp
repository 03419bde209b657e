#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "codec/example/example_wire.hpp"
#include "codec/example/feature_columns.hpp"
#include "codec/example/value_column.hpp"
#include "leat/codec/example/features.hpp"

namespace LEAT::detail {

// Columns of a SequenceExample's lists of features. Each has
//   add(id, steps, joined)  adds the next record: its serialized FeatureList, null if it has none.
//                           Errors: decode_error, malformed_message
//   take(records)           returns the values of `records` records and empties the column

/// The column of a fixed_len_sequence_feature: each step is a row.
class row_column {
 public:
  /// The feature must outlive this object.
  row_column(std::string key, const fixed_len_sequence_feature& feature);
  void add(const record_id& id, const std::string_view* steps, joined_bytes& joined);
  parsed_features::value take(std::size_t records);
  /// Returns the number of steps of each record.
  [[nodiscard]] tensor lengths() const;

 private:
  std::string key_;
  const fixed_len_sequence_feature& feature_;
  std::size_t per_row_;
  value_column values_;
  std::vector<std::size_t> rows_;
};

/// The column of a var_len_feature: each step is a list of any length.
class ragged_column {
 public:
  ragged_column(std::string key, const var_len_feature& feature);
  void add(const record_id& id, const std::string_view* steps, joined_bytes& joined);
  parsed_features::value take(std::size_t records);

 private:
  std::string key_;
  value_column values_;
  std::vector<std::int64_t> indices_;
  std::size_t most_steps_ = 0;
  std::size_t most_values_ = 0;
};

using step_column = std::variant<row_column, ragged_column>;

}  // namespace LEAT::detail
