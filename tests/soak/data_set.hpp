#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "leat/base/random.hpp"

namespace soak {

/// A file of records `first`, `first + 1`, ... The number of a record determines its text.
struct input_file {
  enum class kind { lines, records };

  kind what = kind::lines;
  std::string path;
  std::uint64_t first = 0;
  std::uint64_t count = 0;
  std::uint64_t good = 0;  ///< those before the damage; all where there is none
};

[[nodiscard]] std::string text_of(std::uint64_t number);

/// The longest line that the readers of a soak accept, in bytes. A longer line is the damage.
inline constexpr std::size_t max_line_size = 4096;

/// Writes random files of lines and TFRecords into a directory. Some of them are damaged.
[[nodiscard]] std::vector<input_file> make_files(const std::string& directory,
                                                 leat::random_engine& random);

/// Rewrites a file without damage.
void mend(input_file& f, leat::random_engine& random);

/// Counts each record when it enters and when it leaves a queue.
/// Thread safety: put() and got() are thread-safe.
class ledger {
 public:
  explicit ledger(std::uint64_t records)
      : in_(new std::atomic<std::uint32_t>[records]()),
        out_(new std::atomic<std::uint32_t>[records]()),
        size_(records) {}

  /// Counts a record by its text. Returns false if there is no such record.
  [[nodiscard]] bool put(std::string_view text) { return count(in_.get(), text); }
  [[nodiscard]] bool got(std::string_view text) { return count(out_.get(), text); }

  [[nodiscard]] std::uint32_t in(std::uint64_t number) const { return in_[number]; }
  [[nodiscard]] std::uint32_t out(std::uint64_t number) const { return out_[number]; }
  [[nodiscard]] std::uint64_t size() const noexcept { return size_; }

 private:
  bool count(std::atomic<std::uint32_t>* counters, std::string_view text) const;

  std::unique_ptr<std::atomic<std::uint32_t>[]> in_;
  std::unique_ptr<std::atomic<std::uint32_t>[]> out_;
  std::uint64_t size_;
};

}  // namespace soak
