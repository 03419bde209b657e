// Reads past the page cache: the same bytes, from a device that requires whole units.

#include <cerrno>
#include <cstdint>

#include "leat/sim/file_system/file_system.hpp"

namespace LEAT::sim {

int file_system::set_direct(int handle, bool direct) noexcept {
  const auto found = open_.find(handle);
  if (found == open_.end()) return -EBADF;
  if (direct && options_.direct_unit == 0) return -EINVAL;
  found->second.is_direct = direct;
  return 0;
}

bool file_system::violates_alignment(const file_request& r, const open_file& f) const noexcept {
  if (!f.is_direct) return false;
  const auto address = reinterpret_cast<std::uintptr_t>(r.data);
  return (r.offset | r.size | address) % options_.direct_unit != 0;
}

}  // namespace LEAT::sim
