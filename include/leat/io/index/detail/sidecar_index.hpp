#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "leat/async/task.hpp"
#include "leat/codec/tfrecord/tfrecord_index.hpp"
#include "leat/io/file/internal/atomic_file.hpp"

namespace LEAT::detail {

/// The index of a TFRecord file that is being written. It is finished with the file and renamed
/// just before the file. Without its file, the index matches no other file.
///
/// After an error, all calls can be repeated.
/// Thread safety: thread-bound.
class sidecar_index {
 public:
  /// Adds the next record. Errors: as tfrecord_index_builder::add().
  void add(std::uint64_t payload_size) { builder_.add(payload_size); }

  /// Writes the index of the finished file with the temporary name `data` to a new file for `path`.
  /// A repeated call does the remaining steps. Errors: of the system.
  [[nodiscard]] task<void> finish(std::string data, std::string path);

  /// As atomic_file; after finish().
  [[nodiscard]] task<void> commit(std::string path) { return file_->commit(std::move(path)); }
  void roll_back() noexcept { file_->roll_back(); }
  void release() noexcept { file_->release(); }

 private:
  tfrecord_index_builder builder_;
  std::vector<std::byte> bytes_;  // set when the file is finished
  std::optional<atomic_file> file_;
  bool finished_ = false;
};

}  // namespace LEAT::detail
