#include "leat/pipeline/source/detail/file_order.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

// Invariant: the orders of all ranks in an epoch have each file exactly once. Rank r has the files
// r, r + world_size, ... of the epoch's order, which depends on the seed and the epoch alone: so a
// state needs only the number of files taken. After another number of ranks has continued in the
// middle of an epoch, the order of each is the list that was assigned to it, until the next epoch
// begins. A file of that list that another rank had begun has its position; all others begin at
// their first record.

namespace LEAT::detail {
namespace {

// The first elements of all lists, then the second ones, and so on. Returns every world_size-th of
// them, starting at `next`, which continues to count.
template <class T>
std::vector<T> assigned_in_turn(const std::vector<assigned_files>& all,
                                std::vector<T> assigned_files::* list, world_rank world,
                                std::uint64_t& next) {
  std::vector<T> mine;
  bool more = true;
  for (std::size_t i = 0; more; ++i) {
    more = false;
    for (const assigned_files& one : all) {
      if (i >= (one.*list).size()) continue;
      more = true;
      if (next++ % world.world_size == world.rank) mine.push_back((one.*list)[i]);
    }
  }
  return mine;
}

}  // namespace

void file_order::begin(const random_engine& random, bool shuffle, std::uint64_t epoch,
                       std::size_t files, world_rank world) {
  clear();
  files_.resize(files);
  std::iota(files_.begin(), files_.end(), 0);
  if (shuffle) {
    random_engine own = random.stream(epoch - 1);
    leat::shuffle(files_.begin(), files_.end(), own);
  }
  std::size_t kept = 0;
  for (std::uint64_t i = world.rank; i < files_.size(); i += world.world_size) {
    files_[kept++] = files_[i];
  }
  files_.resize(kept);
}

void file_order::begin_assigned(assigned_files d, std::size_t files, std::string_view stage) {
  clear();
  for (const file_position& p : d.begun) files_.push_back(static_cast<std::size_t>(p.file));
  for (const std::uint64_t f : d.files) files_.push_back(static_cast<std::size_t>(f));
  const auto is_none = [files](std::size_t file) { return file >= files; };
  if (std::ranges::any_of(files_, is_none))
    throw_state_error(
        stage, "it lists a file beyond the " + std::to_string(files) + " files of the stage");
  assigned_ = std::make_shared<const assigned_files>(std::move(d));
}

void file_order::clear() noexcept {
  files_.clear();
  taken_ = 0;
  assigned_.reset();
}

file_position file_order::at(std::size_t i) const {
  if (assigned_ && i < assigned_->begun.size()) return assigned_->begun[i];
  return {.file = files_[i]};
}

void file_order::add_left(assigned_files& to) const {
  const std::size_t begun = assigned_ ? assigned_->begun.size() : 0;
  for (std::size_t i = taken_; i < files_.size(); ++i) {
    if (i < begun) {
      to.begun.push_back(assigned_->begun[i]);
    } else {
      to.files.push_back(files_[i]);
    }
  }
}

assigned_files assign_share(const std::vector<assigned_files>& left, world_rank world) {
  std::uint64_t next = 0;
  assigned_files mine;
  mine.begun = assigned_in_turn(left, &assigned_files::begun, world, next);
  mine.files = assigned_in_turn(left, &assigned_files::files, world, next);
  return mine;
}

}  // namespace LEAT::detail
