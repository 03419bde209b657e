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

/// How many values there are of which size: exact for the smallest, the largest and the mean, to
/// 1/16 for those between. Takes 8 KiB, however many there are.
class size_distribution {
 public:
  void add(std::uint64_t size) noexcept;

  [[nodiscard]] std::uint64_t count() const noexcept { return count_; }
  [[nodiscard]] std::uint64_t smallest() const noexcept { return count_ > 0 ? smallest_ : 0; }
  [[nodiscard]] std::uint64_t largest() const noexcept { return largest_; }
  [[nodiscard]] double mean() const noexcept;
  /// The size that so large a part of the values does not exceed, from 0 to 1.
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

/// The index beside a file, if one fits; none, whatever keeps it from being used: the headers tell
/// the same.
[[nodiscard]] leat::task<std::optional<leat::tfrecord_index>> find_index(std::string path);

/// What there is to say of a file without a look at its payloads.
struct file_summary {
  std::uint64_t records = 0;
  std::uint64_t payload_bytes = 0;
  std::uint64_t file_bytes = 0;  ///< as it lies on the device; 0 where that is not known
  leat::compression compression = leat::compression::none;
  std::string source;  ///< "index", "headers", or "records" where all had to be read
  size_distribution sizes;
};

/// Looks at a file in the cheapest way: at its index, else at its headers, else at all of it.
/// `sizes`: the distribution is wanted too. `use_index`: index files are believed.
[[nodiscard]] leat::task<file_summary> summarize_file(std::string path, const input_options& how,
                                                      bool use_index, bool sizes);

}  // namespace tool
