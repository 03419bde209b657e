#include "codec/example/value_column.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "tensor/internal/tensor_builder.hpp"

namespace LEAT::detail {

value_column::value_column(dtype type, std::size_t expected)
    : type_(type), kind_(kind_of(type)), size_(size_of(type)) {
  if (type == dtype::string) {
    strings_.reserve(expected);
  } else if (expected > 0) {
    numbers_ = aligned_bytes(expected * size_);
    capacity_ = expected;
  }
}

void value_column::grow(std::size_t by) {
  const std::size_t capacity = std::max(count_ + by, 2 * capacity_);
  aligned_bytes larger(capacity * size_);
  if (count_ > 0) std::memcpy(larger.data(), numbers_.data(), count_ * size_);
  numbers_ = std::move(larger);
  capacity_ = capacity;
}

std::size_t value_column::add(std::string_view list) {
  const std::size_t before = count_;
  const auto allocate = [this](std::size_t count) {
    std::byte* const to = reserve_more(count);
    count_ += count;
    return to;
  };
  switch (type_) {
    case dtype::float32: read_floats(list, allocate); break;
    case dtype::int64: read_ints(list, allocate); break;
    default:
      read_strings(list, [this](std::string_view text) { strings_.push_back(text); });
      count_ = strings_.size();
  }
  return count_ - before;
}

void value_column::add(const tensor& values) {
  if (type_ == dtype::string) {
    for (const std::string_view text : values.strings()) strings_.push_back(text);
  } else if (values.count() > 0) {
    std::memcpy(reserve_more(values.count()), tensor_builder::bytes(values), values.byte_size());
  }
  count_ += values.count();
}

void value_column::pad(const tensor& value, std::size_t times) {
  if (type_ == dtype::string) {
    strings_.resize(strings_.size() + times, value.strings()[0]);
  } else if (times > 0) {
    std::byte* out = reserve_more(times);
    for (std::size_t i = 0; i < times; ++i) {
      std::memcpy(out + i * size_, tensor_builder::bytes(value), size_);
    }
  }
  count_ += times;
}

void value_column::add(const value_column& from, std::size_t first, std::size_t count) {
  if (type_ == dtype::string) {
    const auto begin = from.strings_.begin() + static_cast<std::ptrdiff_t>(first);
    strings_.insert(strings_.end(), begin, begin + static_cast<std::ptrdiff_t>(count));
  } else if (count > 0) {
    std::memcpy(reserve_more(count), from.numbers_.data() + first * size_, count * size_);
  }
  count_ += count;
}

tensor value_column::take(shape s) {
  const std::size_t count = count_;
  if (type_ == dtype::string) {
    tensor all = tensor::of(std::move(s), std::span<const std::string_view>(strings_));
    clear();
    return all;
  }
  count_ = 0;
  // The memory is exactly full, as for a known number of values: the tensor takes it.
  if (count == capacity_ && count > 0) {
    capacity_ = 0;
    return tensor_builder::from_bytes(type_, std::move(s), std::exchange(numbers_, {}));
  }
  tensor all = tensor_builder::values(type_, std::move(s));
  if (count > 0) std::memcpy(tensor_builder::bytes(all), numbers_.data(), count * size_);
  return all;
}

}  // namespace LEAT::detail
