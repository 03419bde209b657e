#include "leat/tensor/shape.hpp"

#include <algorithm>

#include "leat/base/error.hpp"

namespace LEAT {
namespace {

std::string text(std::span<const std::int64_t> dimensions) {
  std::string out = "[";
  for (const std::int64_t d : dimensions) {
    if (out.size() > 1) out += ',';
    out += d == unknown_dimension ? "?" : std::to_string(d);
  }
  return out + ']';
}

// Returns the product of the dimensions; unknown ones count as one.
std::size_t checked_count(std::span<const std::int64_t> dimensions, std::int64_t lowest) {
  std::int64_t count = 1;
  bool fits = true;
  for (const std::int64_t d : dimensions) {
    if (d < lowest) {
      throw failure(errc::invalid_argument, "shape " + text(dimensions) + ": dimension " +
                                                std::to_string(d) + " is negative");
    }
    if (d > 1 && __builtin_mul_overflow(count, d, &count)) fits = false;
  }
  // No values, whatever the other dimensions are.
  if (std::find(dimensions.begin(), dimensions.end(), 0) != dimensions.end()) return 0;
  if (fits) return static_cast<std::size_t>(count);
  throw failure(errc::invalid_argument,
                "shape " + text(dimensions) + ": more values than 64 bits can count");
}

}  // namespace

shape::shape(std::span<const std::int64_t> dimensions)
    : dimensions_(dimensions), count_(checked_count(dimensions, 0)) {}

std::string to_string(const shape& s) { return text(s.dimensions()); }

partial_shape::partial_shape(std::span<const std::int64_t> dimensions) : dimensions_(dimensions) {
  static_cast<void>(checked_count(dimensions, unknown_dimension));
}

partial_shape partial_shape::unknown_rank() noexcept {
  partial_shape s;
  s.has_rank_ = false;
  return s;
}

bool partial_shape::is_fully_defined() const noexcept {
  const auto all = dimensions();
  return has_rank_ && std::find(all.begin(), all.end(), unknown_dimension) == all.end();
}

namespace {

bool agree(std::span<const std::int64_t> a, std::span<const std::int64_t> b) noexcept {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](std::int64_t x, std::int64_t y) {
    return x == y || x == unknown_dimension || y == unknown_dimension;
  });
}

}  // namespace

bool partial_shape::is_compatible_with(const partial_shape& other) const noexcept {
  return !has_rank_ || !other.has_rank_ || agree(dimensions(), other.dimensions());
}

bool partial_shape::is_compatible_with(const shape& s) const noexcept {
  return !has_rank_ || agree(dimensions(), s.dimensions());
}

partial_shape partial_shape::batch_of(std::int64_t count) const {
  if (!has_rank_) return *this;
  partial_shape result;
  result.dimensions_ = detail::dimension_list(rank() + 1);
  result.dimensions_.data()[0] = count;
  std::copy_n(dimensions_.data(), rank(), result.dimensions_.data() + 1);
  return result;
}

std::string to_string(const partial_shape& s) {
  return s.has_rank() ? text(s.dimensions()) : "<unknown>";
}

namespace {

// Combines two shapes by dimension: takes the first if both agree, otherwise the result of
// `differing`.
template <class Differing>
partial_shape combined(const partial_shape& a, const partial_shape& b, Differing differing) {
  detail::dimension_list dimensions(a.rank());
  std::transform(a.dimensions().begin(), a.dimensions().end(), b.dimensions().begin(),
                 dimensions.data(),
                 [&](std::int64_t x, std::int64_t y) { return x == y ? x : differing(x, y); });
  return partial_shape(dimensions.all());
}

}  // namespace

partial_shape intersect_shapes(const partial_shape& a, const partial_shape& b) {
  if (!a.is_compatible_with(b)) {
    throw failure(errc::invalid_argument,
                  "shapes " + to_string(a) + " and " + to_string(b) + " are not compatible");
  }
  if (!a.has_rank()) return b;
  if (!b.has_rank()) return a;
  return combined(a, b, [](std::int64_t x, std::int64_t y) { return std::max(x, y); });
}

partial_shape generalize_shapes(const partial_shape& a, const partial_shape& b) {
  if (!a.has_rank() || !b.has_rank() || a.rank() != b.rank()) return partial_shape::unknown_rank();
  return combined(a, b, [](std::int64_t, std::int64_t) { return unknown_dimension; });
}

}  // namespace LEAT
