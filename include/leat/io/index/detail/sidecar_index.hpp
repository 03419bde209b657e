#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "leat/async/task.hpp"
#include "leat/codec/tfrecord/tfrecord_index.hpp"
#include "leat/io/file/detail/atomic_file.hpp"

namespace leat::detail {

/// The index of a TFRecord file that is being written, made with it: finished when that is, and
/// named just before it counts. One that is left without its file is the index of no other.
///
/// After an error all can be called again.
/// Thread safety: thread-bound.
class sidecar_index {
 public:
  /// The record that comes next. Errors: as tfrecord_index_builder::add().
  void add(std::uint64_t payload_size) { builder_.add(payload_size); }

  /// Writes the index of the file that is called `data` for now, and is finished, to a new file for
  /// `path`, as far as that is not done. Errors: of the system.
  [[nodiscard]] task<void> finish(std::string data, std::string path);

  /// As atomic_file; after finish().
  [[nodiscard]] task<void> commit(std::string path) { return file_->commit(std::move(path)); }
  void roll_back() noexcept { file_->roll_back(); }
  void release() noexcept { file_->release(); }

 private:
  tfrecord_index_builder builder_;
  std::vector<std::byte> bytes_;  // from the time on at which the file is finished
  std::optional<atomic_file> file_;
  bool finished_ = false;
};

}  // namespace leat::detail
