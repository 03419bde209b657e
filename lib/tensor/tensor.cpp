#include "leat/tensor/tensor.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "leat/base/error.hpp"
#include "tensor/internal/tensor_builder.hpp"

namespace LEAT {
namespace {

std::string text(dtype type, const shape& s) {
  return std::string(to_string(type)) + ' ' + to_string(s);
}

void check_count(dtype type, const shape& s, std::size_t count) {
  if (s.count() == count) return;
  throw failure(errc::invalid_argument, "tensor of " + text(type, s) + " needs " +
                                            std::to_string(s.count()) + " values, got " +
                                            std::to_string(count));
}

template <class String>
tensor make_strings(shape s, std::span<const String> values) {
  check_count(dtype::string, s, values.size());
  std::size_t size = 0;
  for (const String& v : values) size += v.size();
  tensor t = detail::tensor_builder::strings(std::move(s), size);
  if (values.empty()) return t;
  std::int64_t* const offsets = detail::tensor_builder::offsets(t);
  char* const bytes = detail::tensor_builder::text(t);
  std::size_t at = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    std::copy(values[i].begin(), values[i].end(), bytes + at);
    at += values[i].size();
    offsets[i + 1] = static_cast<std::int64_t>(at);
  }
  return t;
}

}  // namespace

tensor::tensor() noexcept : shape_{0}, type_(dtype::float32) {}

tensor::tensor(dtype type, leat::shape shape)
    : tensor(type == dtype::string ? detail::tensor_builder::strings(std::move(shape), 0)
                                   : detail::tensor_builder::values(type, std::move(shape))) {
  if (bytes_.data()) std::memset(bytes_.data(), 0, bytes_.size());
}

tensor tensor::copy_of(dtype type, leat::shape shape, std::span<const std::byte> values,
                       std::size_t count) {
  check_count(type, shape, count);
  tensor t = detail::tensor_builder::values(type, std::move(shape));
  std::copy(values.begin(), values.end(), t.bytes_.data());
  return t;
}

tensor tensor::of(leat::shape shape, std::span<const std::string_view> values) {
  return make_strings(std::move(shape), values);
}

tensor tensor::of(leat::shape shape, std::span<const std::string> values) {
  return make_strings(std::move(shape), values);
}

string_values tensor::strings() const {
  require(dtype::string);
  if (count() == 0) return {};
  const std::byte* const bytes = bytes_.data();
  return {reinterpret_cast<const std::int64_t*>(bytes), count(),
          reinterpret_cast<const char*>(bytes + detail::tensor_builder::size_of_offsets(count()))};
}

void tensor::throw_type_error(dtype type) const {
  throw failure(errc::invalid_argument,
                "tensor of " + text(type_, shape_) + " has no values of type " +
                    std::string(to_string(type)) + ": access it with the type of its dtype");
}

void tensor::require_one() const {
  if (count() == 1) return;
  throw failure(errc::invalid_argument, "tensor of " + text(type_, shape_) + " has " +
                                            std::to_string(count()) +
                                            " values: value() needs exactly 1");
}

void tensor::unshare() {
  if (bytes_.sole_owner()) return;
  detail::aligned_bytes copy(bytes_.size());
  std::memcpy(copy.data(), bytes_.data(), bytes_.size());
  bytes_ = std::move(copy);
}

bool tensor::equals(const tensor& other) const noexcept {
  if (type_ != other.type_ || shape_ != other.shape_) return false;
  if (bytes_.data() == other.bytes_.data()) return true;
  if (type_ != dtype::string) {
    return std::memcmp(bytes_.data(), other.bytes_.data(), bytes_.size()) == 0;
  }
  const string_values a = strings();
  const string_values b = other.strings();
  return std::equal(a.begin(), a.end(), b.begin(), b.end());
}

}  // namespace LEAT
