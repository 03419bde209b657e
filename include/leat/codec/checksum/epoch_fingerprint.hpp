#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "leat/base/bytes.hpp"

namespace leat {

/// Tells whether two epochs had the same records, each as often, in whatever order and by however
/// many readers.
///
///     leat::epoch_fingerprint seen;
///     for (std::size_t i = 0; i < batch.size(); ++i) seen.add(batch.global_index(i), batch[i]);
///     ...
///     of_rank_0 += of_rank_1;  // the union
///     if (of_rank_0 != of_the_files) ...
///
/// The sum, modulo 2^128, of a hash of 128 bits for each record, of its key and its bytes; and how
/// many there were. The hash is MurmurHash3_x64_128, the same with every compiler.
///
/// Taking the hash for a random function, two epochs that differ have equal fingerprints with a
/// probability of 2^-128, whatever the difference: a record that is missing, twice there, changed,
/// or under another's key. That is for accidents: who chooses the records himself can find sums
/// that are equal with far less work than 2^128, and the hash is no cryptographic one.
///
/// A value type. Thread safety: thread-compatible.
/// Reference: Clarke and others, Incremental multiset hash functions, 2003 (MSet-Add-Hash).
class epoch_fingerprint {
 public:
  /// Of no record.
  epoch_fingerprint() = default;
  /// Goes on where another one was, in another process too: what count(), high() and low() gave.
  epoch_fingerprint(std::uint64_t count, std::uint64_t high, std::uint64_t low) noexcept
      : count_(count), high_(high), low_(low) {}

  /// Adds a record; `key` identifies it among all records: its number or its position.
  /// Cost: some 60 ns and 0.2 ns a byte.
  void add(std::uint64_t key, byte_view record) noexcept;
  void add(std::string_view key, byte_view record) noexcept;

  /// Adds all records of another one.
  epoch_fingerprint& operator+=(const epoch_fingerprint& other) noexcept {
    add_sum(other.high_, other.low_);
    count_ += other.count_;
    return *this;
  }

  /// Records that were added, modulo 2^64.
  [[nodiscard]] std::uint64_t count() const noexcept { return count_; }
  /// The upper and the lower half of the sum.
  [[nodiscard]] std::uint64_t high() const noexcept { return high_; }
  [[nodiscard]] std::uint64_t low() const noexcept { return low_; }

  friend bool operator==(const epoch_fingerprint&, const epoch_fingerprint&) = default;

 private:
  void add_sum(std::uint64_t high, std::uint64_t low) noexcept {
    low_ += low;
    high_ += high + (low_ < low ? 1 : 0);
  }

  std::uint64_t count_ = 0;
  std::uint64_t high_ = 0;
  std::uint64_t low_ = 0;
};

/// "3 records, 0123456789abcdef0123456789abcdef".
[[nodiscard]] std::string to_string(const epoch_fingerprint& f);

}  // namespace leat
