#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <leat/async/task.hpp>
#include <leat/io/index/tfrecord_index_file.hpp>

#include "input/input_options.hpp"

namespace tool {

/// A distribution of sizes: exact for the smallest, the largest and the mean, and to 1/16 for the
/// quantiles. It needs 8 KiB for any number of values.
class size_distribution {
 public:
  void add(std::uint64_t size) noexcept;

  [[nodiscard]] std::uint64_t count() const noexcept { return count_; }
  [[nodiscard]] std::uint64_t smallest() const noexcept { return count_ > 0 ? smallest_ : 0; }
  [[nodiscard]] std::uint64_t largest() const noexcept { return largest_; }
  [[nodiscard]] double mean() const noexcept;
  /// Returns a size that the given part of the values, from 0 to 1, does not exceed.
  [[nodiscard]] std::uint64_t quantile(double part) const noexcept;

 private:
  static constexpr std::size_t steps = 16;  // for each power of two

  [[nodiscard]] static std::size_t bucket_of(std::uint64_t size) noexcept;
  [[nodiscard]] static std::uint64_t top_of(std::size_t bucket) noexcept;

  std::array<std::uint64_t, 64 * steps> buckets_{};
  std::uint64_t count_ = 0;
  std::uint64_t total_ = 0;
  std::uint64_t smallest_ = UINT64_MAX;
  std::uint64_t largest_ = 0;
};

/// Loads the index of a file. Returns nothing if it cannot be used for any reason, because the
/// headers contain the same information.
[[nodiscard]] leat::task<std::optional<leat::tfrecord_index>> find_index(std::string path);

/// The properties of a file that are known without its payloads.
struct file_summary {
  std::uint64_t records = 0;
  std::uint64_t payload_bytes = 0;
  std::uint64_t file_bytes = 0;  ///< compressed, if it is; 0 if unknown
  leat::compression compression = leat::compression::none;
  std::string source;  ///< "index", "headers", or "records" if all data was read
  size_distribution sizes;
};

/// Summarizes a file in the cheapest way: from its index, its headers, or all of its data.
/// `sizes`: also computes the distribution. `use_index`: uses index files.
[[nodiscard]] leat::task<file_summary> summarize_file(std::string path, const input_options& how,
                                                      bool use_index, bool sizes);

}  // namespace tool
