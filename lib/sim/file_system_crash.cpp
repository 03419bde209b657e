// What a file system looks like after a crash.

#include <algorithm>
#include <utility>

#include "leat/sim/allocation_faults.hpp"
#include "leat/sim/file_system.hpp"

namespace leat::sim {

// Of what was not synced some sectors are on the device, and some are not.
void file_system::keep_some(choices& c, node& n) {
  std::vector<std::byte> kept = n.on_device;
  std::size_t size = kept.size();
  if (n.data.size() < size && c.choose(2, "is a cut kept?") == 0) size = n.data.size();
  for (const std::size_t s : n.dirty) {
    const std::size_t begin = s * sector_size;
    if (begin >= n.data.size() || c.choose(2, "is a sector kept?") == 1) continue;
    const std::size_t end = std::min(begin + sector_size, n.data.size());
    size = std::max(size, end);
    kept.resize(std::max(kept.size(), end));  // a hole reads as zeros
    std::copy(n.data.begin() + static_cast<std::ptrdiff_t>(begin),
              n.data.begin() + static_cast<std::ptrdiff_t>(end),
              kept.begin() + static_cast<std::ptrdiff_t>(begin));
  }
  kept.resize(size);
  n.data = kept;
  n.on_device = std::move(kept);
  n.dirty.clear();
}

void file_system::restart() {
  const allocation_faults::spared own;
  // The journal of the names is in order: a part from its beginning is on the device.
  const std::uint32_t lost = choices_.choose(changes_.size() + 1, "changes of names lost");
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
    if (!n->dirty.empty() || n->data.size() != n->on_device.size()) keep_some(choices_, *n);
  }
  open_.clear();
  first_handle_ = highest_handle_ + 1;  // what a dead program still closes is nobody's
  crashed_ = false;
}

}  // namespace leat::sim
