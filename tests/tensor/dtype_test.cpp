#include "leat/tensor/dtype.hpp"

#include <set>
#include <string_view>

#include <catch2/catch.hpp>

using leat::dtype;

TEST_CASE("dtype: each has a name of its own and the size of its C++ type") {
  std::set<std::string_view> names;
  for (int i = 0; i <= static_cast<int>(dtype::string); ++i) {
    names.insert(to_string(static_cast<dtype>(i)));
  }
  CHECK(names.size() == 16);
  CHECK(names.count("unknown") == 0);
  CHECK(to_string(dtype::boolean) == "bool");
  CHECK(to_string(dtype::bfloat16) == "bfloat16");
  CHECK(size_of(dtype::string) == 0);
}

namespace dtype_test {

template <class T>
bool is(dtype type) {
  return leat::dtype_of<T> == type && leat::size_of(type) == sizeof(T);
}

TEST_CASE("dtype: maps C++ types") {
  CHECK(is<bool>(dtype::boolean));
  CHECK(is<std::uint8_t>(dtype::uint8));
  CHECK(is<std::int8_t>(dtype::int8));
  CHECK(is<std::uint16_t>(dtype::uint16));
  CHECK(is<std::int16_t>(dtype::int16));
  CHECK(is<std::uint32_t>(dtype::uint32));
  CHECK(is<std::int32_t>(dtype::int32));
  CHECK(is<std::uint64_t>(dtype::uint64));
  CHECK(is<std::int64_t>(dtype::int64));
  CHECK(is<leat::float16>(dtype::float16));
  CHECK(is<leat::bfloat16>(dtype::bfloat16));
  CHECK(is<float>(dtype::float32));
  CHECK(is<double>(dtype::float64));
  CHECK(is<leat::complex64>(dtype::complex64));
  CHECK(is<leat::complex128>(dtype::complex128));
  STATIC_REQUIRE_FALSE(leat::tensor_value<std::string_view>);
  STATIC_REQUIRE_FALSE(leat::tensor_value<char>);
}

}  // namespace dtype_test
