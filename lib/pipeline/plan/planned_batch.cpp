#include "leat/pipeline/plan/planned_batch.hpp"

#include "leat/io/reader/record_batch.hpp"

namespace LEAT {
namespace {

std::size_t value_bytes(const tensor& t) noexcept { return t.byte_size(); }
std::size_t value_bytes(const sparse_tensor& t) noexcept {
  return t.values.byte_size() + t.indices.byte_size();
}
std::size_t value_bytes(const ragged_tensor& t) noexcept {
  std::size_t sum = t.values.byte_size();
  for (const tensor& level : t.row_splits) sum += level.byte_size();
  return sum;
}

}  // namespace

std::size_t planned_batch::bytes() const noexcept {
  if (const auto* const records = std::get_if<owned_record_batch>(&content_))
    return records->bytes();
  if (const auto* const lines = std::get_if<owned_line_batch>(&content_)) return lines->bytes();
  std::size_t sum = 0;
  for (const column& c : columns()) {
    sum += std::visit([](const auto& value) { return value_bytes(value); }, c.value);
  }
  return sum;
}

std::span<const planned_batch::column> planned_batch::columns() const noexcept {
  const auto* const columns = std::get_if<std::vector<column>>(&content_);
  return columns ? std::span<const column>(*columns) : std::span<const column>();
}

std::vector<planned_batch::column> planned_batch::take_columns() && {
  records_ = 0;
  return std::exchange(std::get<std::vector<column>>(content_), {});
}

byte_view planned_batch::operator[](std::size_t i) const noexcept {
  const auto* const lines = std::get_if<owned_line_batch>(&content_);
  return lines ? as_bytes((*lines)[i]) : (*std::get_if<owned_record_batch>(&content_))[i];
}

std::vector<byte_view> planned_batch::views() const {
  std::vector<byte_view> all;
  if (!has_columns()) all.reserve(records_);
  if (const auto* const lines = std::get_if<owned_line_batch>(&content_)) {
    for (const std::string_view line : *lines) all.push_back(as_bytes(line));
  } else if (const auto* const records = std::get_if<owned_record_batch>(&content_)) {
    for (const byte_view record : *records) all.push_back(record);
  }
  return all;
}

std::string planned_batch::position_text(std::size_t i) const {
  const auto* const lines = std::get_if<owned_line_batch>(&content_);
  return lines ? format_line_position(lines->position(i))
               : format_record_position(std::get<owned_record_batch>(content_).position(i));
}

}  // namespace LEAT
