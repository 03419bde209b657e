#include "codec/csv/csv_values.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <utility>

#include "codec/text/parse_four_numbers_avx2.hpp"
#include "codec/text/parse_number_avx2.hpp"
#include "tensor/internal/tensor_builder.hpp"

namespace LEAT::detail {
namespace {

template <class T>
parsed parse_into(std::byte* slot, std::string_view text) noexcept {
  T value{};
  const parsed result = parse_number(text, value);
  std::memcpy(slot, &value, sizeof value);
  return result;
}

}  // namespace

csv_values::csv_values(const tensor& default_value, std::string_view na_value, const shape& s)
    : default_(&default_value), na_value_(na_value), type_(default_value.type()) {
  if (type_ == dtype::string) {
    strings_.reserve(s.count());
  } else {
    numbers_ = tensor_builder::values(type_, s);
    next_slot_ = tensor_builder::bytes(numbers_);
    size_ = size_of(type_);
  }
  constexpr std::string_view plain = "-.0123456789";
  if (na_value.find_first_not_of(plain) == std::string_view::npos)
    size_of_plain_na_ = na_value.size();
}

bool csv_values::add_default() {
  if (default_->count() == 0) return false;
  if (type_ == dtype::string) {
    strings_.add(default_->strings()[0]);
  } else {
    std::memcpy(next_slot_, tensor_builder::bytes(*default_), size_);
    next_slot_ += size_;
  }
  return true;
}

parsed csv_values::add(std::string_view text) {
  std::byte* const slot = std::exchange(next_slot_, next_slot_ + size_);
  switch (type_) {
    case dtype::int32: return parse_into<std::int32_t>(slot, text);
    case dtype::int64: return parse_into<std::int64_t>(slot, text);
    case dtype::float32: return parse_into<float>(slot, text);
    case dtype::float64: return parse_into<double>(slot, text);
    default: strings_.add(text); return parsed::ok;
  }
}

void csv_values::drop_last(std::size_t count) noexcept {
  if (type_ == dtype::string) {
    strings_.drop_last(count);
  } else {
    next_slot_ -= count * size_;
  }
}

#if defined(__x86_64__)

// Writes the numbers of a block from next_slot_ on, and moves next_slot_ only if all of them are
// valid. So the values of a block are added completely or not at all.
template <class T>
LEAT_AVX2 bool csv_values::add_numbers(const csv_block& block, std::size_t field) noexcept {
  const csv_fields fields = block.column(field);
  const std::size_t count = block.count();
  // The first end of a field that has 16 readable bytes of the block before it.
  const char* const readable = block.text().data() + last_digits::size;
  std::size_t alone = size_of_plain_na_ > 0 ? count : 0;  // fields to parse one by one next
  while (alone < count && fields.end_of(alone) < readable) ++alone;
  std::byte* slot = next_slot_;
  for (std::size_t i = 0; i < count;) {
    const std::size_t next = std::min(count, i + alone);
    if (!put_numbers<T>(slot, fields, readable, i, next)) return false;
    slot += (next - i) * sizeof(T);
    // Excludes the last field: if it is empty, no byte after it can be read.
    for (i = next; i + 4 < count; i += 4, slot += 4 * sizeof(T)) {
      const csv_fields::four texts = fields.four_from(i);
      if (!parse_four_numbers_avx2<T>(texts.begins, texts.ends, slot)) break;
    }
    alone = 32;  // if one is not plain, others may follow: do not try each of them
  }
  next_slot_ = slot;
  return true;
}

template <class T>
LEAT_AVX2 bool csv_values::put_numbers(std::byte* slot, const csv_fields& fields,
                                       const char* readable, std::size_t first,
                                       std::size_t last) const noexcept {
  const std::size_t may_be_missing = size_of_plain_na_;
  for (std::size_t i = first; i < last; ++i, slot += sizeof(T)) {
    const std::string_view text = fields[i];
    T value;
    if (text.size() != may_be_missing && text.data() + text.size() >= readable &&
        parse_number_avx2(text, value)) [[likely]] {
      std::memcpy(slot, &value, sizeof value);
    } else if (!put_number<T>(slot, text)) {
      return false;
    }
  }
  return true;
}

template <class T>
bool csv_values::put_number(std::byte* slot, std::string_view text) const noexcept {
  if (!is_missing(text)) return parse_into<T>(slot, text) == parsed::ok;
  if (default_->count() == 0) return false;
  std::memcpy(slot, tensor_builder::bytes(*default_), sizeof(T));
  return true;
}

bool csv_values::add_strings(const csv_block& block, std::size_t field) {
  const csv_fields fields = block.column(field);
  const std::size_t count = block.count();
  const std::string_view na = na_value_;  // the added text may alias anything
  const char* const end = block.text().data() + block.text().size();
  string_column::addition more = strings_.begin(count, block.text().size());
  for (std::size_t i = 0; i < count; ++i) {
    const std::string_view text = fields[i];
    if (!text.empty() && (na.empty() || text != na)) [[likely]] {
      more.add(text, static_cast<std::size_t>(end - text.data()));
      continue;
    }
    // add_default() adds to the column itself, so the addition ends before it and a new one begins.
    strings_.finish(more);
    if (!add_default()) {
      strings_.drop_last(i);
      return false;
    }
    more = strings_.begin(count - i - 1, static_cast<std::size_t>(end - text.data()));
  }
  strings_.finish(more);
  return true;
}

bool csv_values::add_all(const csv_block& block, std::size_t field) {
  switch (type_) {
    case dtype::int32: return add_numbers<std::int32_t>(block, field);
    case dtype::int64: return add_numbers<std::int64_t>(block, field);
    case dtype::float32: return add_numbers<float>(block, field);
    case dtype::float64: return add_numbers<double>(block, field);
    default: return add_strings(block, field);
  }
}

#else

bool csv_values::add_all(const csv_block&, std::size_t) { return false; }

#endif

}  // namespace LEAT::detail
