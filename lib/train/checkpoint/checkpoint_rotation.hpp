#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "leat/codec/checkpoint/checkpoint_state.hpp"

namespace leat::detail {

/// Which checkpoints of a directory are listed, and which of these are to be deleted: no file, no
/// clock. Times are seconds since 1970.
class checkpoint_rotation {
 public:
  struct listed {
    std::string path;
    double time = 0;  ///< when it was saved
  };

  /// Of a directory without checkpoints. `keep_every`: seconds; 0: none is kept for ever.
  checkpoint_rotation(std::optional<std::size_t> max_to_keep, double keep_every, double now)
      : max_to_keep_(max_to_keep), keep_every_(keep_every), last_preserved_(now - 1) {}

  /// Goes on with what a state file lists. `modified`: when the files were written, for those of
  /// whose time the state tells nothing; empty for one that is not there. True: the clock was set
  /// back since the state was written; nothing from before is ever deleted then.
  bool recover(const checkpoint_state& state, const std::vector<std::optional<double>>& modified,
               double now);

  /// Adds the newest checkpoint; one of the same name is the newest now.
  void add(std::string path, double now);

  /// One was deleted otherwise; the one before it in the list is the newest if it was that.
  void forget(const std::string& path);

  /// One that is there is the newest again; it is deleted in its turn if it was listed.
  void make_newest(const std::string& path, double time);

  /// Takes the next one that is to be deleted out of the list, and before it those that are kept
  /// for ever. Empty: nothing is to be deleted.
  [[nodiscard]] std::optional<listed> next_to_delete();
  /// Those could not be deleted: they are the oldest again.
  void put_back(std::vector<listed> entries);

  /// Oldest first.
  [[nodiscard]] const std::vector<listed>& all() const noexcept { return all_; }

  /// What the state file is to say. Precondition: there was a checkpoint.
  [[nodiscard]] checkpoint_state state() const;

 private:
  [[nodiscard]] bool lists_newest_only() const noexcept { return max_to_keep_ == 0U; }

  std::optional<std::size_t> max_to_keep_;
  double keep_every_;
  double last_preserved_;
  listed newest_;
  std::vector<listed> all_;
};

}  // namespace leat::detail
