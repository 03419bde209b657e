#pragma once

#include <array>
#include <cstdint>

#include "leat/base/internal/assert.hpp"
#include "leat/base/random.hpp"

namespace LEAT {

/// A permutation of the numbers from 0 to n - 1 that is computed, not stored. The number at an
/// index, and the index of a number, each take O(1) time and memory.
///
///     const leat::permutation order(records, seed, epoch);
///     for (std::uint64_t i = 0; i < order.size(); ++i) use(order[i]);
///
/// The order is a function of (n, seed, epoch) alone, and the same with every compiler and on every
/// platform. Different seeds and different epochs produce different orders. For up to 5 numbers,
/// all orders are equally likely to within 0.05 %. Do not use it for secrets.
///
/// The numbers are the cells of a rectangle of about sqrt(n) columns and as many rows. A Feistel
/// network alternately rotates each row and each column by a random distance. The number of columns
/// is even, so that odd permutations are possible too. If the result is not less than n, the
/// network is applied again; the rectangle exceeds n cells by less than one row.
///
/// A value type.
///
/// Thread safety: thread-compatible; thread-safe if it is never assigned to.
///
/// Cost: 300 bytes. Each number takes a division and 8 random numbers, or 32 if n is below 256; see
/// docs/shuffling.md.
///
/// Reference: Black and Rogaway, Ciphers with arbitrary finite domains, 2002.
class permutation {
 public:
  /// The largest size of a permutation, 2^63.
  static constexpr std::uint64_t max_size = std::uint64_t{1} << 63;

  /// Creates a permutation of the numbers below `size`.
  ///
  /// Errors: invalid_argument if `size` is above max_size.
  permutation(std::uint64_t size, std::uint64_t seed, std::uint64_t epoch = 0);

  [[nodiscard]] std::uint64_t size() const noexcept { return size_; }

  /// Returns the number at `index`. Precondition: index < size().
  [[nodiscard]] std::uint64_t operator[](std::uint64_t index) const noexcept {
    LEAT_ASSERT(index < size_, "permutation: index must be less than size()");
    do index = forward(index);
    while (index >= size_);
    return index;
  }

  /// Returns the index of `number`. Precondition: number < size().
  [[nodiscard]] std::uint64_t index_of(std::uint64_t number) const noexcept {
    LEAT_ASSERT(number < size_, "permutation::index_of(): number must be less than size()");
    do number = backward(number);
    while (number >= size_);
    return number;
  }

 private:
  static constexpr unsigned few_rounds = 8;
  static constexpr unsigned many_rounds = 32;

  struct cell {
    std::uint64_t column;
    std::uint64_t row;
  };
  [[nodiscard]] cell cell_of(std::uint64_t x) const noexcept {
    return {x % columns_, x / columns_};
  }
  [[nodiscard]] std::uint64_t number_of(const cell& c) const noexcept {
    return c.row * columns_ + c.column;
  }

  // By how far a round moves the row or column `line`, which is `length` long.
  [[nodiscard]] std::uint64_t distance(unsigned round, std::uint64_t line,
                                       std::uint64_t length) const noexcept {
    return random_engine(keys_[round], line).uniform_below(length);
  }
  static std::uint64_t add(std::uint64_t at, std::uint64_t distance,
                           std::uint64_t length) noexcept {
    return at + distance < length ? at + distance : at + distance - length;
  }

  [[nodiscard]] std::uint64_t forward(std::uint64_t x) const noexcept {
    cell c = cell_of(x);
    for (unsigned round = 0; round < rounds_; round += 2) {
      c.column = add(c.column, distance(round, c.row, columns_), columns_);
      c.row = add(c.row, distance(round + 1, c.column, rows_), rows_);
    }
    return number_of(c);
  }
  [[nodiscard]] std::uint64_t backward(std::uint64_t x) const noexcept {
    cell c = cell_of(x);
    for (unsigned round = rounds_; round > 0; round -= 2) {
      c.row = add(c.row, rows_ - distance(round - 1, c.column, rows_), rows_);
      c.column = add(c.column, columns_ - distance(round - 2, c.row, columns_), columns_);
    }
    return number_of(c);
  }

  std::uint64_t size_;
  std::uint64_t columns_;
  std::uint64_t rows_;
  unsigned rounds_;
  std::array<std::uint64_t, many_rounds> keys_;
};

}  // namespace LEAT
