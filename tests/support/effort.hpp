#pragma once

#include <cstdint>
#include <cstdlib>

#include "leat/base/internal/sanitizers.hpp"

namespace leat_test {

/// True under a sanitizer or without optimisation, where tests take about ten times as long. A test
/// then tries fewer of many similar cases.
#if LEAT_ASAN || LEAT_TSAN || !defined(__OPTIMIZE__)
inline constexpr bool slow_build = true;
#else
inline constexpr bool slow_build = false;
#endif

/// Returns the number of similar cases to try, such as seeds: `usual`, or a tenth of it in a slow
/// build.
constexpr std::uint64_t scaled_count(std::uint64_t usual) {
  return slow_build ? (usual + 9) / 10 : usual;
}

/// Returns true if Meson runs the same cases again, on the other backend or without a ring. The
/// longest tests then try fewer similar cases, as in a slow build.
[[nodiscard]] inline bool is_repeated_run() { return std::getenv("LEAT_TEST_AGAIN") != nullptr; }

/// Returns the number in this environment variable, which a campaign sets, or `usual` if it is not
/// set.
[[nodiscard]] inline std::uint64_t from_environment(const char* name, std::uint64_t usual) {
  const char* const text = std::getenv(name);
  return text ? std::strtoull(text, nullptr, 10) : usual;
}

/// Returns the seed of random cases: `usual`, plus the LEAT_SEED that a campaign sets.
[[nodiscard]] inline std::uint64_t case_seed(std::uint64_t usual) {
  return from_environment("LEAT_SEED", 0) + usual;
}

/// Returns the number of random cases. A campaign sets the factor LEAT_TIMES.
[[nodiscard]] inline std::uint64_t random_case_count(std::uint64_t usual) {
  return scaled_count(usual) * from_environment("LEAT_TIMES", 1);
}

}  // namespace leat_test
