#pragma once

#include <cstdint>
#include <cstdlib>

#include "leat/base/detail/sanitizers.hpp"

namespace leat_test {

/// True under a sanitizer or without optimisation, where everything takes ten times as long: then a
/// test tries fewer of many like cases.
#if LEAT_ASAN || LEAT_TSAN || !defined(__OPTIMIZE__)
inline constexpr bool slow_build = true;
#else
inline constexpr bool slow_build = false;
#endif

/// So many of `usual` like cases, such as seeds, are tried: a tenth of them in a slow build.
constexpr std::uint64_t scaled_count(std::uint64_t usual) {
  return slow_build ? (usual + 9) / 10 : usual;
}

/// True where Meson runs the same cases once more, on the other backend or without a ring: then the
/// longest try fewer of many like cases, as in a slow build.
[[nodiscard]] inline bool is_repeated_run() { return std::getenv("LEAT_TEST_AGAIN") != nullptr; }

/// A number that a campaign sets in the environment; else that of the usual tests.
[[nodiscard]] inline std::uint64_t from_environment(const char* name, std::uint64_t usual) {
  const char* const text = std::getenv(name);
  return text ? std::strtoull(text, nullptr, 10) : usual;
}

/// The seed of random cases, the same in each usual run; a campaign sets LEAT_SEED.
[[nodiscard]] inline std::uint64_t case_seed(std::uint64_t usual) {
  return from_environment("LEAT_SEED", 0) + usual;
}

/// So many random cases; a campaign sets how many times as many, LEAT_TIMES.
[[nodiscard]] inline std::uint64_t random_case_count(std::uint64_t usual) {
  return scaled_count(usual) * from_environment("LEAT_TIMES", 1);
}

}  // namespace leat_test
