#pragma once

#include <cstdint>
#include <optional>

#include "leat/base/flavour.hpp"

namespace LEAT {

/// A generator of random numbers that are the same with every compiler and on every platform, for
/// orders that must be reproducible. The standard library's distributions and std::shuffle differ
/// between vendors.
///
/// The generator is counter-based: the n-th number is a function of (seed, n), so the state of a
/// shuffle is one integer. The function is SplitMix64 (Steele, Lea, Flood 2014), which passes
/// BigCrush. Do not use it for secrets.
///
/// A value type.
///
/// Thread safety: thread-compatible.
///
/// Cost: about ten instructions for each number.
class random_engine {
 public:
  using result_type = std::uint64_t;

  explicit constexpr random_engine(std::uint64_t seed, std::uint64_t position = 0) noexcept
      : seed_(seed), position_(position) {}

  /// Returns an engine for a separate stream, such as the stream of an epoch or a worker.
  [[nodiscard]] constexpr random_engine stream(std::uint64_t index) const noexcept {
    return random_engine(mix(seed_ + mix(index + golden)));
  }

  /// Returns the next number, uniform over all 64-bit values.
  constexpr std::uint64_t operator()() noexcept { return mix(seed_ + ++position_ * golden); }

  /// Returns a number from 0 to bound - 1; all are equally likely. Precondition: bound > 0.
  constexpr std::uint64_t uniform_below(std::uint64_t bound) noexcept {
    // Lemire's method: the high half of a product, with the few unfair low halves drawn again.
    uint128 product = static_cast<uint128>((*this)()) * bound;
    if (static_cast<std::uint64_t>(product) < bound) {
      const std::uint64_t unfair = (0 - bound) % bound;
      while (static_cast<std::uint64_t>(product) < unfair) {
        product = static_cast<uint128>((*this)()) * bound;
      }
    }
    return static_cast<std::uint64_t>(product >> 64);
  }

  /// Returns the seed that was passed to the constructor.
  [[nodiscard]] constexpr std::uint64_t seed() const noexcept { return seed_; }

  /// Returns the number of 64-bit values drawn, counted from position 0.
  /// random_engine(seed(), position()) continues from there.
  [[nodiscard]] constexpr std::uint64_t position() const noexcept { return position_; }

  /// Returns the smallest number that operator() returns: 0.
  static constexpr std::uint64_t min() noexcept { return 0; }
  /// Returns the largest number that operator() returns: UINT64_MAX.
  static constexpr std::uint64_t max() noexcept { return UINT64_MAX; }

 private:
  __extension__ using uint128 = unsigned __int128;

  static constexpr std::uint64_t golden = 0x9E3779B97F4A7C15;

  static constexpr std::uint64_t mix(std::uint64_t z) noexcept {
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB;
    return z ^ (z >> 31);
  }

  std::uint64_t seed_;
  std::uint64_t position_;
};

/// Returns `seed` if it is set, or a seed from the operating system's entropy.
[[nodiscard]] std::uint64_t seed_or_random(std::optional<std::uint64_t> seed);

/// Shuffles [first, last) into a uniformly random order, by Fisher and Yates from the end.
template <class Iterator>
void shuffle(Iterator first, Iterator last, random_engine& random) {
  for (auto n = static_cast<std::uint64_t>(last - first); n > 1; --n) {
    using std::swap;
    const auto other = static_cast<decltype(last - first)>(random.uniform_below(n));
    swap(first[static_cast<decltype(last - first)>(n - 1)], first[other]);
  }
}

}  // namespace LEAT
