#include "leat/pipeline/source/detail/saved_file_versions.hpp"

#include <algorithm>
#include <utility>

#include "leat/base/bytes.hpp"
#include "leat/codec/checksum/crc32c.hpp"
#include "leat/io/backend/descriptor_path.hpp"
#include "leat/pipeline/state/detail/stage_state.hpp"

namespace LEAT::detail {

const std::string* find_descriptor_path(const std::vector<std::string>& files) noexcept {
  const auto found = std::ranges::find_if(
      files, [](const std::string& path) { return descriptor_of_path(path).has_value(); });
  return found == files.end() ? nullptr : &*found;
}

std::string descriptor_save_error(const std::vector<std::string>& files, std::string_view stage) {
  const std::string* const path = find_descriptor_path(files);
  if (!path) return {};
  return "stage '" + std::string(stage) + "' reads '" + *path +
         "', whose data cannot be read again: read it from a file";
}

std::string describe_change(const saved_file_version& saved, std::uint64_t size) {
  if (saved.size != size) {
    return " has " + std::to_string(size) + " bytes, but had " + std::to_string(saved.size) +
           " when it was read";
  }
  return " was modified after it was read";
}

saved_file_versions::saved_file_versions(std::vector<std::string> paths)
    : paths_(std::move(paths)) {
  versions_.reserve(paths_.size());
  for (const std::string& path : paths_) versions_.push_back({.path = crc32c(as_bytes(path))});
}

void saved_file_versions::note(std::size_t i, const file_status& status) noexcept {
  if (status.size == 0 && status.modified_ns == 0) return;  // the file does not exist
  versions_[i].read = true;
  versions_[i].size = status.size;
  versions_[i].modified_ns = status.modified_ns;
}

task<void> saved_file_versions::require(const std::vector<saved_file_version>& saved,
                                        std::string_view stage) {
  if (saved.size() != paths_.size()) {
    throw_state_error(stage, "the stage has " + std::to_string(paths_.size()) + " files, but had " +
                                 std::to_string(saved.size()) + " when it was saved");
  }
  for (std::size_t i = 0; i < saved.size(); ++i) {
    if (saved[i].path != versions_[i].path) {
      throw_state_error(stage, "'" + paths_[i] + "' was not among the files when it was saved");
    }
    // A version that is known was checked before, for the state of another rank.
    if (!saved[i].read || versions_[i] == saved[i]) continue;
    const file_status now = co_await get_status(paths_[i]);
    if (now.size != saved[i].size || now.modified_ns != saved[i].modified_ns) {
      throw_state_error(stage, "'" + paths_[i] + "'" + describe_change(saved[i], now.size));
    }
    versions_[i] = saved[i];
  }
}

}  // namespace LEAT::detail
