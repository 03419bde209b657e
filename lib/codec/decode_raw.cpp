#include "leat/codec/decode_raw.hpp"

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "codec/record_count_context.hpp"
#include "leat/base/error.hpp"
#include "tensor/internal/tensor_builder.hpp"

namespace LEAT {
namespace {

using detail::tensor_builder;

[[noreturn]] void throw_raw_error(const std::string& why) {
  throw failure(errc::invalid_argument, "decode_raw: " + why);
}

// Size of the part of a value whose bytes are swapped for the other byte order.
std::size_t size_of_part(dtype type) noexcept {
  const bool is_complex = type == dtype::complex64 || type == dtype::complex128;
  return is_complex ? size_of(type) / 2 : size_of(type);
}

std::string values_text(dtype type) {
  return std::to_string(size_of(type)) + ", the size of " + std::string(to_string(type));
}

// Returns the number of bytes of each record that become values.
std::size_t find_record_size(std::span<const byte_view> records, dtype type,
                             const raw_options& options) {
  if (type == dtype::string) throw_raw_error("type string is not supported: use a numeric type");
  if (options.fixed_length) {
    const std::size_t length = *options.fixed_length;
    if (length == 0 || length % size_of(type) != 0) {
      throw_raw_error("raw_options::fixed_length is " + std::to_string(length) +
                      ", must be a positive multiple of " + values_text(type));
    }
    return length;
  }
  const std::size_t length = records.empty() ? 0 : records[0].size();
  for (std::size_t i = 0; i < records.size(); ++i) {
    if (records[i].size() == length) continue;
    throw decode_error(i, " has " + std::to_string(records[i].size()) + " bytes, must have " +
                              std::to_string(length) + " like the first record");
  }
  if (length % size_of(type) != 0) {
    throw decode_error(0, " has " + std::to_string(length) + " bytes, must have a multiple of " +
                              values_text(type));
  }
  return length;
}

void swap_bytes(std::byte* bytes, std::size_t size, std::size_t part) noexcept {
  for (std::size_t at = 0; at < size; at += part) std::reverse(bytes + at, bytes + at + part);
}

tensor decode(std::span<const byte_view> records, const shape& outer, dtype type,
              const raw_options& options) {
  const std::size_t length = detail::with_record_count(
      records.size(), [&] { return find_record_size(records, type, options); });
  std::vector<std::int64_t> dimensions(outer.dimensions().begin(), outer.dimensions().end());
  dimensions.push_back(length == 0 ? 0 : static_cast<std::int64_t>(length / size_of(type)));
  tensor values = tensor_builder::values(type, shape(dimensions));
  std::byte* out = tensor_builder::bytes(values);
  for (const byte_view record : records) {
    const std::size_t size = std::min(record.size(), length);
    if (size > 0) std::memcpy(out, record.data(), size);
    if (size < length) std::memset(out + size, 0, length - size);
    out += length;
  }
  std::byte* const first = tensor_builder::bytes(values);
  const std::size_t all = length * records.size();
  if (options.order != std::endian::native) swap_bytes(first, all, size_of_part(type));
  if (type == dtype::boolean) {
    std::transform(first, first + all, first,
                   [](std::byte b) { return std::byte{b != std::byte{0}}; });
  }
  return values;
}

}  // namespace

tensor decode_raw(std::span<const byte_view> records, dtype type, const raw_options& options) {
  return decode(records, {static_cast<std::int64_t>(records.size())}, type, options);
}

tensor decode_raw(const tensor& records, dtype type, const raw_options& options) {
  std::vector<byte_view> views;
  views.reserve(records.count());
  for (const std::string_view text : records.strings()) views.push_back(as_bytes(text));
  return decode(views, records.shape(), type, options);
}

}  // namespace LEAT
