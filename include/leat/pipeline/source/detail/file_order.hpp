#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "leat/base/random.hpp"
#include "leat/base/world_rank.hpp"
#include "leat/pipeline/source/detail/files_state.hpp"

namespace LEAT::detail {

/// The files of an epoch that one rank reads, in order, and how many of them it has taken: every
/// world_size-th of the epoch's order, or those that were assigned to it during the epoch.
class file_order {
 public:
  /// Begins an epoch, counted from 1, and selects the rank's share of `files` files.
  void begin(const random_engine& random, bool shuffle, std::uint64_t epoch, std::size_t files,
             world_rank world);
  /// Begins an epoch with the assigned files. Errors: failed_precondition, with the stage, if one
  /// is not among the `files` files.
  void begin_assigned(assigned_files d, std::size_t files, std::string_view stage);
  void clear() noexcept;

  [[nodiscard]] bool is_assigned() const noexcept { return assigned_ != nullptr; }
  /// Returns the assigned files, or null; they do not change.
  [[nodiscard]] const std::shared_ptr<const assigned_files>& assigned() const noexcept {
    return assigned_;
  }

  [[nodiscard]] const std::vector<std::size_t>& files() const noexcept { return files_; }
  [[nodiscard]] std::size_t taken() const noexcept { return taken_; }
  [[nodiscard]] bool at_end() const noexcept { return taken_ == files_.size(); }
  /// Precondition: `taken` is at most the number of files.
  void go_to(std::size_t taken) noexcept { taken_ = taken; }

  /// Returns the i-th file. It is open if another rank began it.
  [[nodiscard]] file_position at(std::size_t i) const;
  /// Takes the next file. Precondition: not at_end().
  [[nodiscard]] file_position take() { return at(taken_++); }

  /// Adds the files that were not taken to `to`.
  void add_left(assigned_files& to) const;

 private:
  std::vector<std::size_t> files_;
  std::size_t taken_ = 0;
  std::shared_ptr<const assigned_files> assigned_;
};

/// Returns the share of one rank in the files that other ranks had left: first the files that were
/// begun, taken from the ranks in turn, then the other files.
[[nodiscard]] assigned_files assign_share(const std::vector<assigned_files>& left,
                                          world_rank world);

}  // namespace LEAT::detail
