#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <type_traits>

#include "leat/base/flavour.hpp"

namespace LEAT {

/// The type of the values in a tensor.
enum class dtype : std::uint8_t {
  boolean,
  uint8,
  int8,
  uint16,
  int16,
  uint32,
  int32,
  uint64,
  int64,
  float16,
  bfloat16,
  float32,
  float64,
  complex64,   // two float32
  complex128,  // two float64
  string,
};

/// Returns the name of a type in NumPy, TensorFlow and PyTorch: "bool", "uint8", "float32",
/// "string".
[[nodiscard]] std::string_view to_string(dtype type) noexcept;

/// Returns the bytes of one value; 0 for strings, whose length varies.
[[nodiscard]] constexpr std::size_t size_of(dtype type) noexcept {
  constexpr std::uint8_t sizes[] = {1, 1, 1, 2, 2, 4, 4, 8, 8, 2, 2, 4, 8, 8, 16, 0};
  return sizes[static_cast<std::size_t>(type)];
}

/// The bits of an IEEE 754 half-precision number. Storage only: there is no arithmetic.
struct float16 {
  /// The sign, the 5 bits of the exponent and the 10 bits of the fraction.
  std::uint16_t bits = 0;
  friend bool operator==(float16, float16) = default;
};

/// The upper half of a float's bits. Storage only: there is no arithmetic.
struct bfloat16 {
  /// The sign, the 8 bits of the exponent and the 7 bits of the fraction.
  std::uint16_t bits = 0;
  friend bool operator==(bfloat16, bfloat16) = default;
};

/// A complex number with the layout of std::complex<float>. Storage only: there is no arithmetic.
struct complex64 {
  /// The real part.
  float real = 0;
  /// The imaginary part.
  float imag = 0;
  friend bool operator==(complex64, complex64) = default;
};

/// A complex number with the layout of std::complex<double>. Storage only: there is no arithmetic.
struct complex128 {
  /// The real part.
  double real = 0;
  /// The imaginary part.
  double imag = 0;
  friend bool operator==(complex128, complex128) = default;
};

namespace detail {

template <class T>
struct dtype_of;
template <dtype Type>
using dtype_constant = std::integral_constant<dtype, Type>;

// clang-format off
static_assert(sizeof(bool) == 1);
template <> struct dtype_of<bool> : dtype_constant<dtype::boolean> {};
template <> struct dtype_of<std::uint8_t> : dtype_constant<dtype::uint8> {};
template <> struct dtype_of<std::int8_t> : dtype_constant<dtype::int8> {};
template <> struct dtype_of<std::uint16_t> : dtype_constant<dtype::uint16> {};
template <> struct dtype_of<std::int16_t> : dtype_constant<dtype::int16> {};
template <> struct dtype_of<std::uint32_t> : dtype_constant<dtype::uint32> {};
template <> struct dtype_of<std::int32_t> : dtype_constant<dtype::int32> {};
template <> struct dtype_of<std::uint64_t> : dtype_constant<dtype::uint64> {};
template <> struct dtype_of<std::int64_t> : dtype_constant<dtype::int64> {};
template <> struct dtype_of<float16> : dtype_constant<dtype::float16> {};
template <> struct dtype_of<bfloat16> : dtype_constant<dtype::bfloat16> {};
template <> struct dtype_of<float> : dtype_constant<dtype::float32> {};
template <> struct dtype_of<double> : dtype_constant<dtype::float64> {};
template <> struct dtype_of<complex64> : dtype_constant<dtype::complex64> {};
template <> struct dtype_of<complex128> : dtype_constant<dtype::complex128> {};
// clang-format on

}  // namespace detail

/// A C++ type with which the values of a tensor can be read and written in place. Strings are not
/// included: see tensor::strings().
template <class T>
concept tensor_value = requires { detail::dtype_of<T>::value; };

/// The dtype of a C++ type: dtype_of<float> is dtype::float32.
template <tensor_value T>
inline constexpr dtype dtype_of = detail::dtype_of<T>::value;

}  // namespace LEAT
