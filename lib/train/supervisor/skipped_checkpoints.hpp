#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "leat/base/flavour.hpp"

namespace LEAT::detail {

/// The checkpoints that a restore skipped, for one warning per reason.
///
/// Thread safety: thread-compatible.
class skipped_checkpoints {
 public:
  /// Adds a checkpoint with the error of its restore.
  void add(std::string path, std::string why);

  /// Returns one sentence for each reason, in the order of first occurrence, and empties the list.
  /// Two errors have the same reason if they differ only in the path of the checkpoint.
  [[nodiscard]] std::vector<std::string> take_warnings();

 private:
  struct group {
    std::string reason;  // the error without the path
    std::string why;     // the error of the first checkpoint
    std::vector<std::string> paths;
  };

  static constexpr std::size_t max_named_ = 5;  // of one warning; further ones are counted

  std::vector<group> groups_;
};

}  // namespace LEAT::detail
