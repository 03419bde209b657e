// The names of a file system: its directories, changes of names, and what a test does with files.

#include <algorithm>
#include <cerrno>
#include <utility>

#include "leat/sim/allocation_faults.hpp"
#include "leat/sim/file_system/file_system.hpp"
#include "sim/file_system/path_names.hpp"

namespace LEAT::sim {

std::int64_t file_system::list(const file_request& r) const {
  const std::string directory = canonical(r.path);
  if (names_.contains(directory)) return -ENOTDIR;
  if (!directories_.contains(directory)) return -ENOENT;
  const auto add = [&](const std::string& path) {
    if (path != "/" && parent_of(path) == directory) {
      r.names->push_back(path.substr(path.rfind('/') + 1));
    }
  };
  for (const auto& [path, n] : names_) add(path);
  for (const std::string& path : directories_) add(path);
  return 0;
}

std::int64_t file_system::new_directory(const std::string& path) {
  if (directories_.contains(path) || names_.contains(path)) return -EEXIST;
  if (!directories_.contains(parent_of(path))) return -ENOENT;
  directories_.insert(path);
  return 0;
}

// The changes of its entries, in order.
std::int64_t file_system::sync_directory(const std::string& directory) {
  if (!directories_.contains(directory)) return names_.contains(directory) ? -ENOTDIR : -ENOENT;
  std::erase_if(changes_, [&](const change& c) {
    const bool here = std::any_of(c.entries.begin(), c.entries.end(),
                                  [&](const auto& e) { return parent_of(e.first) == directory; });
    if (!here) return false;
    for (const auto& [path, n] : c.entries) {
      if (n) {
        names_on_device_[path] = n;
      } else {
        names_on_device_.erase(path);
      }
    }
    return true;
  });
  return 0;
}

void file_system::rename(const std::string& from, const std::string& to) {
  if (from == to) return;
  apply_change({{{from, nullptr}, {to, names_.at(from)}}});
}

void file_system::apply_change(change c) {
  for (const auto& [path, n] : c.entries) {
    if (n) {
      names_[path] = n;
    } else {
      names_.erase(path);
    }
  }
  changes_.push_back(std::move(c));
}

// Earlier changes of the name, which a crash could still lose or keep, no longer count.
void file_system::set_name_on_device(const std::string& path, std::shared_ptr<node> n) {
  for (change& c : changes_) {
    std::erase_if(c.entries, [&](const auto& e) { return e.first == path; });
  }
  names_[path] = n;
  names_on_device_[path] = std::move(n);
}

// ---------------------------------------------------------------------------------- for the test

void file_system::make_directory(const std::string& path) {
  const allocation_faults::without_faults own;
  for (std::string at = canonical(path); directories_.insert(at).second;) at = parent_of(at);
}

void file_system::write_file(const std::string& path, std::string_view content) {
  const allocation_faults::without_faults own;
  const std::string at = canonical(path);
  make_directory(parent_of(at));
  auto n = make_node();
  const auto* const begin = reinterpret_cast<const std::byte*>(content.data());
  n->data.assign(begin, begin + content.size());
  n->on_device = n->data;
  n->modified_ns = wall_ns_;
  set_name_on_device(at, std::move(n));
}

std::optional<std::string> file_system::read_file(const std::string& path) const {
  const allocation_faults::without_faults own;
  const auto found = names_.find(canonical(path));
  if (found == names_.end()) return std::nullopt;
  const auto& data = found->second->data;
  return std::string(reinterpret_cast<const char*>(data.data()), data.size());
}

void file_system::resize(node& n, std::size_t size) const {
  n.data.resize(size);
  n.lost.erase(n.lost.lower_bound((size + sector_size - 1) / sector_size), n.lost.end());
  n.modified_ns = wall_ns_;
}

void file_system::truncate(const std::string& path, std::size_t size) {
  const allocation_faults::without_faults own;
  const auto found = names_.find(canonical(path));
  if (found == names_.end()) return;
  resize(*found->second, size);
  found->second->on_device = found->second->data;
  found->second->lost.clear();
}

std::vector<std::string> file_system::files() const {
  const allocation_faults::without_faults own;
  std::vector<std::string> all;
  for (const auto& [path, n] : names_) all.push_back(path);
  return all;
}

}  // namespace LEAT::sim
