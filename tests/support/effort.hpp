#pragma once

#include <cstdint>

#include "leat/core/detail/sanitizers.hpp"

namespace leat_test {

/// True under a sanitizer or without optimisation, where everything takes ten times as long: then a
/// test tries fewer of many like cases.
#if LEAT_ASAN || LEAT_TSAN || !defined(__OPTIMIZE__)
inline constexpr bool slow_build = true;
#else
inline constexpr bool slow_build = false;
#endif

/// So many of `usual` like cases, such as seeds, are tried: a tenth of them in a slow build.
constexpr std::uint64_t some_of(std::uint64_t usual) {
  return slow_build ? (usual + 9) / 10 : usual;
}

}  // namespace leat_test
