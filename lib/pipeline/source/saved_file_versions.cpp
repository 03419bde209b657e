#include "leat/pipeline/source/detail/saved_file_versions.hpp"

#include <utility>

#include "leat/base/bytes.hpp"
#include "leat/codec/checksum/crc32c.hpp"

namespace leat::detail {

std::string change_of(const saved_file_version& saved, std::uint64_t size) {
  if (saved.size != size) {
    return "it has " + std::to_string(size) + " bytes, and had " + std::to_string(saved.size) +
           " when it was read";
  }
  return "it has been written since it was read";
}

file_marks::file_marks(std::vector<std::string> paths) : paths_(std::move(paths)) {
  marks_.reserve(paths_.size());
  for (const std::string& path : paths_) marks_.push_back({.path = crc32c(as_bytes(path))});
}

void file_marks::note(std::size_t i, const file_status& status) noexcept {
  if (status.size == 0 && status.modified_ns == 0) return;  // there is none
  marks_[i].read = true;
  marks_[i].size = status.size;
  marks_[i].modified_ns = status.modified_ns;
}

task<void> file_marks::require(const std::vector<saved_file_version>& saved,
                               std::string_view stage) {
  if (saved.size() != paths_.size()) {
    refuse_state(stage, "there are " + std::to_string(paths_.size()) + " files, and were " +
                            std::to_string(saved.size()) + " when it was saved");
  }
  for (std::size_t i = 0; i < saved.size(); ++i) {
    if (saved[i].path != marks_[i].path) {
      refuse_state(stage, "'" + paths_[i] + "' was not among the files when it was saved");
    }
    if (!saved[i].read || marks_[i] == saved[i]) continue;
    const file_status now = co_await get_status(paths_[i]);
    if (now.size != saved[i].size || now.modified_ns != saved[i].modified_ns) {
      refuse_state(stage, "'" + paths_[i] + "' has changed: " + change_of(saved[i], now.size));
    }
    marks_[i] = saved[i];
  }
}

}  // namespace leat::detail
