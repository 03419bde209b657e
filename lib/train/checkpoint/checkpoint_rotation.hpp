#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "leat/codec/checkpoint/checkpoint_state.hpp"

namespace LEAT::detail {

/// Determines which checkpoints of a directory are listed, and which of these are to be deleted. It
/// uses no files and no clock. Times are seconds since 1970.
class checkpoint_rotation {
 public:
  struct listed {
    std::string path;
    double time = 0;  ///< when it was saved
  };

  /// For a directory without checkpoints. `keep_every`: seconds; 0: none is kept permanently.
  checkpoint_rotation(std::optional<std::size_t> max_to_keep, double keep_every, double now)
      : max_to_keep_(max_to_keep), keep_every_(keep_every), last_preserved_(now - 1) {}

  /// Continues with the list of a state file. `modified`: when the files were written, for those
  /// without a time in the state; empty for a missing file. Returns true if the clock was set back
  /// since the state was written: earlier checkpoints are then never deleted.
  bool recover(const checkpoint_state& state, const std::vector<std::optional<double>>& modified,
               double now);

  /// Adds the newest checkpoint; a name that exists becomes the newest.
  void add(std::string path, double now);

  /// Removes a checkpoint that was deleted elsewhere; if it was the newest, the one before it is.
  void forget(const std::string& path);

  /// Makes an existing checkpoint the newest; if it was listed, it is still deleted later.
  void make_newest(const std::string& path, double time);

  /// Removes the next checkpoint to delete from the list, and before it those that are kept
  /// permanently. Empty if nothing is to be deleted.
  [[nodiscard]] std::optional<listed> next_to_delete();
  /// Adds checkpoints that could not be deleted as the oldest again.
  void put_back(std::vector<listed> entries);

  /// Oldest first.
  [[nodiscard]] const std::vector<listed>& all() const noexcept { return all_; }

  /// Returns the content of the state file. Precondition: there was a checkpoint.
  [[nodiscard]] checkpoint_state state() const;

 private:
  [[nodiscard]] bool lists_newest_only() const noexcept { return max_to_keep_ == 0U; }

  // Invariants: `all_` has each path once, oldest first; it is empty if max_to_keep is 0. `newest_`
  // is its last entry, or a checkpoint that is listed and never deleted.
  std::optional<std::size_t> max_to_keep_;
  double keep_every_;
  double last_preserved_;
  listed newest_;
  std::vector<listed> all_;
};

}  // namespace LEAT::detail
