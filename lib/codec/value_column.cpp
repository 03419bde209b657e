#include "codec/value_column.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "core/tensor_maker.hpp"
#include "core/wire_reader.hpp"

namespace leat::detail {

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

inline void value_column::add_strings(std::string_view list) {
  std::string_view text;
  while (take_bytes(list, tag_of(1, wire::bytes), text)) add_string(text);
  for_each_bytes(list, 1, [this](std::string_view value) { add_string(value); });
}

inline void value_column::add_string(std::string_view text) {
  strings_.push_back(text);
  ++count_;
}

inline void value_column::add_floats(std::string_view list) {
  std::string_view packed;
  if (take_bytes(list, tag_of(1, wire::bytes), packed)) add_packed_floats(packed);
  wire_reader in(list);
  while (!in.done()) {
    const std::uint32_t tag = in.tag();
    if (tag == tag_of(1, wire::bytes)) {
      add_packed_floats(in.bytes());
    } else if (tag == tag_of(1, wire::fixed32)) {
      const std::uint32_t bits = in.fixed32();
      std::memcpy(make_room(1), &bits, sizeof bits);
      ++count_;
    } else {
      in.skip(tag);
    }
  }
}

inline void value_column::add_packed_floats(std::string_view packed) {
  if (packed.size() % sizeof(float) != 0) throw wire_damage{"a list of floats that is cut short"};
  if (packed.empty()) return;
  const std::size_t count = packed.size() / sizeof(float);
  std::memcpy(make_room(count), packed.data(), packed.size());
  count_ += count;
}

inline void value_column::add_ints(std::string_view list) {
  std::string_view packed;
  if (take_bytes(list, tag_of(1, wire::bytes), packed)) add_packed_ints(packed);
  wire_reader in(list);
  while (!in.done()) {
    const std::uint32_t tag = in.tag();
    if (tag == tag_of(1, wire::bytes)) {
      add_packed_ints(in.bytes());
    } else if (tag == tag_of(1, wire::varint)) {
      const std::uint64_t value = in.varint();
      std::memcpy(make_room(1), &value, sizeof value);
      ++count_;
    } else {
      in.skip(tag);
    }
  }
}

inline void value_column::add_packed_ints(std::string_view packed) {
  // Each number ends with a byte whose high bit is clear.
  const auto is_last = [](char c) { return static_cast<signed char>(c) >= 0; };
  if (packed.size() == 1 && is_last(packed[0])) {  // a label
    const std::int64_t value = packed[0];
    std::memcpy(make_room(1), &value, sizeof value);
    ++count_;
    return;
  }
  if (packed.empty()) return;
  const auto count = static_cast<std::size_t>(std::ranges::count_if(packed, is_last));
  std::byte* out = make_room(count);
  wire_reader in(packed);
  while (!in.done()) {
    const std::uint64_t value = in.varint();
    std::memcpy(out, &value, sizeof value);
    out += sizeof value;
  }
  count_ += count;
}

std::size_t value_column::add(std::string_view list) {
  const std::size_t before = count_;
  switch (type_) {
    case dtype::string: add_strings(list); break;
    case dtype::float32: add_floats(list); break;
    default: add_ints(list); break;
  }
  return count_ - before;
}

void value_column::add(const tensor& values) {
  if (type_ == dtype::string) {
    for (const std::string_view text : values.strings()) strings_.push_back(text);
  } else if (values.count() > 0) {
    std::memcpy(make_room(values.count()), tensor_maker::bytes(values), values.size());
  }
  count_ += values.count();
}

void value_column::pad(const tensor& value, std::size_t times) {
  if (type_ == dtype::string) {
    strings_.resize(strings_.size() + times, value.strings()[0]);
  } else if (times > 0) {
    std::byte* out = make_room(times);
    for (std::size_t i = 0; i < times; ++i) {
      std::memcpy(out + i * size_, tensor_maker::bytes(value), size_);
    }
  }
  count_ += times;
}

void value_column::add(const value_column& from, std::size_t first, std::size_t count) {
  if (type_ == dtype::string) {
    const auto begin = from.strings_.begin() + static_cast<std::ptrdiff_t>(first);
    strings_.insert(strings_.end(), begin, begin + static_cast<std::ptrdiff_t>(count));
  } else if (count > 0) {
    std::memcpy(make_room(count), from.numbers_.data() + first * size_, count * size_);
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
  if (count == capacity_ && count > 0) {
    capacity_ = 0;
    return tensor_maker::of_bytes(type_, std::move(s), std::exchange(numbers_, {}));
  }
  tensor all = tensor_maker::values(type_, std::move(s));
  if (count > 0) std::memcpy(tensor_maker::bytes(all), numbers_.data(), count * size_);
  return all;
}

}  // namespace leat::detail
