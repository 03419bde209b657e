#include <algorithm>
#include <climits>
#include <utility>

#include "codec/example/feature_columns.hpp"
#include "leat/base/error.hpp"

namespace LEAT::detail {
namespace {

// The partitions are nested: the rows of partition p are the items of partition p - 1. add()
// therefore divides a record from the inside out, beginning with its values. Uniform partitions at
// the inner end are dimensions of an item, not rows: `levels_` counts the other partitions, and
// `values_of_item_` is the size of an item.
//
// splits_[p + 1] has the ends of the rows of partition p over all records, and splits_[0] the ends
// of the records in rows of the outermost level. Each list begins with 0 and continues for the next
// record at its last element.

// The number of rows beyond its items that a record may have by its value_row_ids, because a number
// could otherwise request any amount of memory.
constexpr std::int64_t max_empty_rows = 65'536;

std::string_view to_string(ragged_partition::kind kind) noexcept {
  switch (kind) {
    case ragged_partition::row_splits: return "row_splits";
    case ragged_partition::row_lengths: return "row_lengths";
    case ragged_partition::row_starts: return "row_starts";
    case ragged_partition::row_limits: return "row_limits";
    case ragged_partition::value_row_ids: return "value_row_ids";
    case ragged_partition::uniform_row_length: break;
  }
  return "uniform_row_length";
}

}  // namespace

// Adds the rows of one partition of one record, each by its end.
class partitioned_column::row_writer {
 public:
  row_writer(std::vector<std::int64_t>& splits, std::int64_t items, const record_id& id,
             const std::string& key, std::string_view how) noexcept
      : splits_(splits), base_(splits.back()), items_(items), id_(id), key_(key), how_(how) {}

  [[nodiscard]] std::int64_t items() const noexcept { return items_; }
  // Returns the end of the last row, in items of this record.
  [[nodiscard]] std::int64_t end() const noexcept { return splits_.back() - base_; }
  [[nodiscard]] std::int64_t rows() const noexcept { return rows_; }

  void add(std::int64_t end_of_row) {
    if (end_of_row < end() || end_of_row > items_) {
      throw_error("row ends at " + std::to_string(end_of_row) + ", must end at " +
                  std::to_string(end()) + " to " + std::to_string(items_));
    }
    splits_.push_back(base_ + end_of_row);
    ++rows_;
  }
  void finish() const {
    if (end() == items_) return;
    throw_error("rows end at " + std::to_string(end()) + ", but there are " +
                std::to_string(items_) + " items");
  }
  [[noreturn]] void throw_error(const std::string& why) const {
    id_.throw_error(key_, "invalid " + std::string(how_) + ": " + why);
  }

 private:
  std::vector<std::int64_t>& splits_;
  const std::int64_t base_;
  const std::int64_t items_;
  std::int64_t rows_ = 0;
  const record_id& id_;
  const std::string& key_;
  const std::string_view how_;
};

partitioned_column::partitioned_column(wanted_key value_key, std::vector<wanted_key> partition_keys,
                                       const ragged_feature& feature)
    : value_key_(std::move(value_key)),
      partition_keys_(std::move(partition_keys)),
      feature_(feature),
      levels_(feature.partitions.size()),
      values_(feature.type),
      numbers_(dtype::int64) {
  const auto is_dimension = [](const ragged_partition& p) {
    return p.how == ragged_partition::uniform_row_length;
  };
  while (levels_ > 0 && is_dimension(feature.partitions[levels_ - 1])) {
    --levels_;
    values_of_item_ *= static_cast<std::size_t>(feature.partitions[levels_].length);
  }
  splits_.resize(levels_ + 1, {0});
}

void partitioned_column::add(const record_id& id, record_lists lists) {
  const std::size_t count = add_list(values_, lists[value_key_.slot], id, value_key_.text);
  if (count % values_of_item_ != 0) {
    id.throw_error(value_key_.text,
                   "has " + value_count_text(leat::to_string(feature_.type), count) +
                       ", must have a multiple of " + std::to_string(values_of_item_) +
                       " for rows of uniform length");
  }
  auto items = static_cast<std::int64_t>(count / values_of_item_);
  for (std::size_t level = levels_; level > 0; --level) {
    items = add_rows(id, lists, level - 1, items);
  }
  splits_[0].push_back(splits_[0].back() + items);
}

// Divides the items of a record into rows and returns the number of rows.
std::int64_t partitioned_column::add_rows(const record_id& id, record_lists lists,
                                          std::size_t partition, std::int64_t items) {
  const ragged_partition& p = feature_.partitions[partition];
  const bool uniform = p.how == ragged_partition::uniform_row_length;
  const wanted_key& key = uniform ? value_key_ : partition_keys_[partition];
  row_writer rows(splits_[partition + 1], items, id, key.text, to_string(p.how));
  if (uniform) {
    for (std::int64_t end = p.length; end <= items; end += p.length) {
      rows.add(end);
      // Otherwise `end` would overflow.
      if (end > INT64_MAX - p.length) break;
    }
  } else {
    numbers_.clear();
    const std::size_t count = add_list(numbers_, lists[key.slot], id, key.text);
    add_ends(rows, p.how, {numbers_.ints(), count});
  }
  rows.finish();
  return rows.rows();
}

void partitioned_column::add_ends(row_writer& rows, ragged_partition::kind how,
                                  std::span<const std::int64_t> numbers) const {
  if (numbers.empty()) return;
  const bool begins = how == ragged_partition::row_splits || how == ragged_partition::row_starts;
  if (begins && numbers[0] != 0) {
    rows.throw_error("first row begins at " + std::to_string(numbers[0]) + ", must begin at 0");
  }
  switch (how) {
    case ragged_partition::row_splits:
    case ragged_partition::row_starts:
      for (const std::int64_t next : numbers.subspan(1)) rows.add(next);
      if (how == ragged_partition::row_starts) rows.add(rows.items());
      break;
    case ragged_partition::row_limits:
      for (const std::int64_t end : numbers) rows.add(end);
      break;
    case ragged_partition::row_lengths:
      for (const std::int64_t length : numbers) {
        if (length < 0 || length > rows.items() - rows.end()) {
          rows.throw_error("row has " + std::to_string(length) + " items, must have 0 to " +
                           std::to_string(rows.items() - rows.end()));
        }
        rows.add(rows.end() + length);
      }
      break;
    case ragged_partition::value_row_ids: {
      if (numbers.size() != static_cast<std::size_t>(rows.items())) {
        rows.throw_error(value_count_text("int64", numbers.size()) + " for " +
                         std::to_string(rows.items()) + " items");
      }
      std::int64_t item = 0;
      for (const std::int64_t row : numbers) {
        // The row of the previous item is not ended yet: its index is rows().
        const std::int64_t most = rows.items() + max_empty_rows;
        if (row < rows.rows() || row > most) {
          rows.throw_error("row index is " + std::to_string(row) + ", must be " +
                           std::to_string(rows.rows()) + " to " + std::to_string(most));
        }
        while (rows.rows() < row) rows.add(item);
        ++item;
      }
      rows.add(item);
      break;
    }
    case ragged_partition::uniform_row_length: break;
  }
}

parsed_features::value partitioned_column::take(std::size_t) {
  std::vector<std::int64_t> dimensions = {
      static_cast<std::int64_t>(values_.count() / values_of_item_)};
  for (std::size_t p = levels_; p < feature_.partitions.size(); ++p) {
    dimensions.push_back(feature_.partitions[p].length);
  }
  ragged_tensor all;
  for (const auto& splits : splits_) all.row_splits.push_back(make_splits(splits));
  all.values = values_.take(shape(dimensions));
  return all;
}

tensor partitioned_column::make_splits(std::span<const std::int64_t> splits) const {
  if (feature_.row_splits_type == dtype::int64) return int_vector(splits);
  if (splits.back() > INT32_MAX) {
    throw failure(errc::invalid_argument,
                  "feature '" + value_key_.text + "': row_splits of " +
                      std::to_string(splits.back()) +
                      " items do not fit into int32: set row_splits_type to dtype::int64");
  }
  tensor narrow(dtype::int32, {static_cast<std::int64_t>(splits.size())});
  std::ranges::transform(splits, narrow.mutable_values<std::int32_t>().begin(),
                         [](std::int64_t s) { return static_cast<std::int32_t>(s); });
  return narrow;
}

}  // namespace LEAT::detail
