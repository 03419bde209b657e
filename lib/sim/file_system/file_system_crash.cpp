// The contents of the device after a sync and after a crash.

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <utility>
#include <vector>

#include "files/internal/buffer_ownership.hpp"
#include "leat/sim/allocation_faults.hpp"
#include "leat/sim/file_system/file_system.hpp"
#include "sim/file_system/path_names.hpp"

namespace LEAT::sim {
namespace {

// Compares the length that both sides have.
void copy_sector(const std::vector<std::byte>& from, std::vector<std::byte>& to, std::size_t begin,
                 std::size_t size) {
  const std::size_t end = std::min({begin + size, from.size(), to.size()});
  if (begin >= end) return;
  std::copy(from.begin() + static_cast<std::ptrdiff_t>(begin),
            from.begin() + static_cast<std::ptrdiff_t>(end),
            to.begin() + static_cast<std::ptrdiff_t>(begin));
}

}  // namespace

// A file has two contents: `data` is what reads return, like the page cache, and `on_device` is
// what every crash leaves. A write marks its sectors as `dirty`; after a crash, restart() keeps
// some of them. A sync copies them to the device. If it fails, some of them become `lost` instead:
// later syncs succeed without them until they are written again, as on Linux, which reports such an
// error once.
//
// Names have two maps in the same way, `names_` and `names_on_device_`. `changes_` are the changes
// between the two, in order; a sync of a directory applies those of its entries. Directories
// themselves are on the device at once.

std::int64_t file_system::sync(const file_request& r) {
  if (r.path) return sync_directory(canonical(r.path));
  const auto found = open_.find(r.handle);
  if (found == open_.end()) return -EBADF;
  node* const n = found->second.target.get();
  if (!n) return -EBADF;
  std::vector<std::byte> before = std::exchange(n->on_device, n->data);
  before.resize(n->data.size());
  for (const std::size_t s : n->lost)
    copy_sector(before, n->on_device, s * sector_size, sector_size);
  n->dirty.clear();
  return 0;
}

// Data that the system failed to write counts as written from then on.
void file_system::lose_sectors(const file_request& r) {
  const auto found =
      r.what == file_request::operation::sync && !r.path ? open_.find(r.handle) : open_.end();
  if (found == open_.end() || !found->second.target) return;
  node& n = *found->second.target;
  std::erase_if(n.dirty, [&](std::size_t s) {
    if (decisions_.choose(2, "is a sector lost?") == 0) return false;
    n.lost.insert(s);
    return true;
  });
}

// Of the data that was not synced, some sectors are on the device and some are not.
void file_system::keep_sectors(decision_source& c, node& n) {
  std::vector<std::byte> kept = n.on_device;
  std::size_t size = kept.size();
  if (n.data.size() < size && c.choose(2, "is a cut kept?") == 0) size = n.data.size();
  for (const std::size_t s : n.dirty) {
    const std::size_t begin = s * sector_size;
    if (begin >= n.data.size() || c.choose(2, "is a sector kept?") == 1) continue;
    const std::size_t end = std::min(begin + sector_size, n.data.size());
    size = std::max(size, end);
    kept.resize(std::max(kept.size(), end));  // a hole reads as zeros
    copy_sector(n.data, kept, begin, sector_size);
  }
  kept.resize(size);
  n.data = kept;
  n.on_device = std::move(kept);
  n.dirty.clear();
  n.lost.clear();
}

void file_system::end_process() {
  const allocation_faults::without_faults own;
  is_ended_ = true;
  report_change();
  while (!pending_.empty()) {
    pending p = std::move(pending_.front());
    pending_.erase(pending_.begin());
    file_request& r = *p.request;
    leat::detail::mark_user_owned(r);
    const bool happens =
        !p.cancelled && !crashed_ && p.due != no_deadline &&
        decisions_.choose(2, "does the operation of an ended process happen?") == 0;
    r.result = happens ? perform(r, p.what) : -ECANCELED;
    r.completion_scheduler->post(r);
  }
  open_.clear();
  first_handle_ = highest_handle_ + 1;  // closes of the ended program have no effect
}

void file_system::restart() {
  const allocation_faults::without_faults own;
  // The journal of names is ordered: a prefix of it is on the device.
  const std::uint32_t lost = decisions_.choose(changes_.size() + 1, "changes of names lost");
  changes_.resize(changes_.size() - lost);
  for (const change& c : changes_) {
    for (const auto& [path, n] : c.entries) {
      if (n) {
        names_on_device_[path] = n;
      } else {
        names_on_device_.erase(path);
      }
    }
  }
  changes_.clear();
  names_ = names_on_device_;
  for (const auto& [path, n] : names_) {
    const bool has_unsynced =
        !n->dirty.empty() || !n->lost.empty() || n->data.size() != n->on_device.size();
    if (has_unsynced) keep_sectors(decisions_, *n);
  }
  open_.clear();
  first_handle_ = highest_handle_ + 1;  // closes of an ended program have no effect
  crashed_ = false;
}

}  // namespace LEAT::sim
