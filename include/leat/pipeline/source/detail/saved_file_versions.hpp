#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "leat/async/task.hpp"
#include "leat/io/file/file.hpp"
#include "leat/pipeline/state/detail/stage_state.hpp"

namespace leat::detail {

/// How a file differs from what it was when it was read: one or the other does.
[[nodiscard]] std::string describe_change(const saved_file_version& saved, std::uint64_t size);

/// The files of a source, and how they were when they were read, to know them again.
class saved_file_versions {
 public:
  saved_file_versions() = default;
  explicit saved_file_versions(std::vector<std::string> paths);

  [[nodiscard]] std::size_t size() const noexcept { return paths_.size(); }
  [[nodiscard]] const std::string& path(std::size_t i) const noexcept { return paths_[i]; }
  [[nodiscard]] const std::vector<saved_file_version>& versions() const noexcept {
    return versions_;
  }

  /// File `i` is read.
  void note(std::size_t i, const file_status& status) noexcept;

  /// Refuses other files than those, and marks them as they were. Errors: failed_precondition,
  /// naming the first that differs; those of get_status().
  [[nodiscard]] task<void> require(const std::vector<saved_file_version>& saved,
                                   std::string_view stage);

 private:
  std::vector<std::string> paths_;
  std::vector<saved_file_version> versions_;
};

}  // namespace leat::detail
