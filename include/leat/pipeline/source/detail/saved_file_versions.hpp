#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "leat/async/task.hpp"
#include "leat/io/file/file.hpp"

namespace LEAT::detail {

/// The version of a file when it was read.
struct saved_file_version {
  std::uint32_t path = 0;  ///< CRC-32C of the path
  bool read = false;       ///< false: the following members are unknown
  std::uint64_t size = 0;
  std::int64_t modified_ns = 0;

  friend bool operator==(const saved_file_version&, const saved_file_version&) = default;
};

/// Returns the first of the files that is a descriptor_path(), or null.
[[nodiscard]] const std::string* find_descriptor_path(
    const std::vector<std::string>& files) noexcept;

/// Returns the reason against a save of a source with these files; empty if there is none.
[[nodiscard]] std::string descriptor_save_error(const std::vector<std::string>& files,
                                                std::string_view stage);

/// Describes how a file differs from the time when it was read. Precondition: it differs.
[[nodiscard]] std::string describe_change(const saved_file_version& saved, std::uint64_t size);

/// The files of a source, and their versions when they were read, to recognize changes.
class saved_file_versions {
 public:
  saved_file_versions() = default;
  explicit saved_file_versions(std::vector<std::string> paths);

  [[nodiscard]] std::size_t size() const noexcept { return paths_.size(); }
  [[nodiscard]] const std::string& path(std::size_t i) const noexcept { return paths_[i]; }
  [[nodiscard]] const std::vector<saved_file_version>& versions() const noexcept {
    return versions_;
  }

  /// Records that file `i` is read.
  void note(std::size_t i, const file_status& status) noexcept;

  /// Rejects files other than the saved ones, and records their versions.
  /// Errors: failed_precondition with the first file that differs; those of get_status().
  [[nodiscard]] task<void> require(const std::vector<saved_file_version>& saved,
                                   std::string_view stage);

 private:
  std::vector<std::string> paths_;
  std::vector<saved_file_version> versions_;
};

}  // namespace LEAT::detail
