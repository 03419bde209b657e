// Pipes, which have data after a write, and reads that were cancelled.

#include <algorithm>
#include <utility>

#include "leat/sim/allocation_faults.hpp"
#include "leat/sim/file_system/file_system.hpp"
#include "sim/file_system/path_names.hpp"

namespace LEAT::sim {

using op = file_request::operation;

void file_system::make_pipe(const std::string& path) {
  const allocation_faults::without_faults own;
  const std::string at = canonical(path);
  make_directory(parent_of(at));
  auto n = make_node();
  n->is_pipe = true;
  set_name_on_device(at, std::move(n));
}

void file_system::write_pipe(const std::string& path, std::string_view text) {
  const allocation_faults::without_faults own;
  node& n = *names_.at(canonical(path));
  const auto* const begin = reinterpret_cast<const std::byte*>(text.data());
  n.data.insert(n.data.end(), begin, begin + text.size());
  wake_waiting();
}

void file_system::close_pipe(const std::string& path) {
  const allocation_faults::without_faults own;
  names_.at(canonical(path))->is_closed = true;
  wake_waiting();
}

// A read of an empty pipe that has a writer.
bool file_system::waits_for_data(const file_request& r) const {
  if (r.what != op::read || r.offset != at_stream_position) return false;
  const auto found = open_.find(r.handle);
  if (found == open_.end() || !found->second.target) return false;
  const node& n = *found->second.target;
  return n.is_pipe && !n.is_closed && n.taken == n.data.size();
}

// Completes cancelled reads after a random time.
void file_system::wake_waiting() {
  for (pending& p : pending_) {
    const bool waited = p.due == no_deadline;
    if (waited && (p.cancelled || !waits_for_data(*p.request))) p.due = now_ + latency(p);
  }
  std::sort(pending_.begin(), pending_.end(), [](const pending& a, const pending& b) {
    return std::pair(a.due, a.order) < std::pair(b.due, b.order);
  });
  report_change();
}

void file_system::cancel(file_request& request) noexcept {
  request.cancelled = true;
  const auto found = std::find_if(pending_.begin(), pending_.end(),
                                  [&](const pending& p) { return p.request == &request; });
  if (found == pending_.end()) return;  // it has completed
  // An operation that the device has started usually completes.
  found->cancelled = found->due == no_deadline || decisions_.choose(4, "cancelled in time?") == 1;
  if (found->due == no_deadline) wake_waiting();
}

}  // namespace LEAT::sim
