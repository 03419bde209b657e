#include "codec/example/step_columns.hpp"

#include <algorithm>
#include <utility>

#include "tensor/internal/tensor_builder.hpp"

namespace LEAT::detail {
namespace {

// Adds the values of each step, and calls use(id of the step, number of values).
template <class Use>
void for_each_step(value_column& values, record_id id, std::string_view key, std::string_view steps,
                   joined_bytes& joined, Use use) {
  id.step = 0;
  for_each_bytes(steps, 1, [&](std::string_view feature) {
    use(id, add_list(values, read_feature(feature, joined), id, key));
    ++*id.step;
  });
}

std::int64_t as_index(std::size_t n) noexcept { return static_cast<std::int64_t>(n); }

}  // namespace

// ------------------------------------------------------------------------------------------- rows

row_column::row_column(std::string key, const fixed_len_sequence_feature& feature)
    : key_(std::move(key)),
      feature_(feature),
      per_row_(count_values(feature.shape)),
      values_(feature.type) {}

void row_column::add(const record_id& id, const std::string_view* steps, joined_bytes& joined) {
  if (!steps && !feature_.allow_missing) {
    id.throw_error(key_, "required list is missing: set allow_missing if it is optional");
  }
  rows_.push_back(0);
  if (!steps) return;
  for_each_step(values_, id, key_, *steps, joined,
                [this](const record_id& at_step, std::size_t count) {
                  require_count(at_step, key_, feature_.type, count, per_row_, feature_.shape);
                  ++rows_.back();
                });
}

parsed_features::value row_column::take(std::size_t) {
  return stack_rows(values_, rows_, per_row_, feature_);
}

tensor row_column::lengths() const {
  std::vector<std::int64_t> all;
  for (const std::size_t r : rows_) all.push_back(as_index(r));
  return int_vector(all);
}

// ---------------------------------------------------------------------------- lists of any length

ragged_column::ragged_column(std::string key, const var_len_feature& feature)
    : key_(std::move(key)), values_(feature.type) {}

void ragged_column::add(const record_id& id, const std::string_view* steps, joined_bytes& joined) {
  if (!steps) return;
  for_each_step(values_, id, key_, *steps, joined,
                [this](const record_id& at_step, std::size_t count) {
                  const std::size_t step = *at_step.step;
                  most_steps_ = std::max(most_steps_, step + 1);
                  most_values_ = std::max(most_values_, count);
                  for (std::size_t position = 0; position < count; ++position) {
                    indices_.push_back(as_index(at_step.index));
                    indices_.push_back(as_index(step));
                    indices_.push_back(as_index(position));
                  }
                });
}

parsed_features::value ragged_column::take(std::size_t records) {
  const std::size_t count = values_.count();
  const std::int64_t dense[] = {as_index(records), as_index(most_steps_), as_index(most_values_)};
  return sparse_tensor{tensor::of<std::int64_t>(prepend_dimensions({count, 3}, {}), indices_),
                       values_.take(prepend_dimensions({count}, {})), int_vector(dense)};
}

}  // namespace LEAT::detail
