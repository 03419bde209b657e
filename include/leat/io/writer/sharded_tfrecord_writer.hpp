#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "leat/async/task.hpp"
#include "leat/base/braced.hpp"
#include "leat/base/bytes.hpp"
#include "leat/base/detail/exclusive_use.hpp"
#include "leat/io/file/detail/atomic_file.hpp"
#include "leat/io/file/detail/output_buffer.hpp"
#include "leat/io/index/detail/sidecar_index.hpp"
#include "leat/io/writer/tfrecord_writer.hpp"

namespace leat {

/// How records are divided among files. Without a limit and a count there is one file.
struct sharded_tfrecord_writer_options {
  /// Records of a file.
  std::uint64_t max_records = UINT64_MAX;
  /// Bytes of a file. One that is not compressed is larger only when its one record is; a
  /// compressed one ends where it has reached them, which the buffers make a little later.
  std::uint64_t max_bytes = UINT64_MAX;
  /// So many files, to which the records are dealt in turn; 0: by the limits. All of them are open
  /// at once, each with its buffers. At most 10,000.
  std::size_t shard_count = 0;
  /// What the names end with.
  braced<std::string> suffix = ".tfrecord";
  /// How each file is written; with an index beside each of them where it says so.
  tfrecord_writer_options file = {};
};

/// The name of a file that is one of a set: "data-00003-of-00010.tfrecord", with five digits or
/// more. In the order of their names the files are in the order of their numbers.
/// Reference: TensorFlow Datasets, Beam, and most of what writes TFRecord files.
[[nodiscard]] std::string shard_path(std::string_view prefix, std::size_t index, std::size_t count,
                                     std::string_view suffix);

/// Writes records to a set of TFRecord files, which appear under their names when all of them are
/// complete.
///
/// How many files there are is known at the end, and each name tells it; so the files get their
/// names in close(), each in one step, after all of them are on the device. When one cannot be
/// named the others lose their names again. Only a machine that stops between the first and the
/// last leaves a part of a set, of whole files, and the names tell that some are missing.
///
/// A file that has one of the names is replaced, and a set of another size is not touched. So a set
/// that is to be replaced in one step needs a prefix of its own, such as another directory.
///
/// Without a close nothing is left behind. An event loop that is destroyed in the middle of a
/// write or close() leaves what a crash leaves: ".partial" files, or a part of a set.
///
/// After an error nothing is lost: a record given to write() is taken, whatever becomes of the
/// write, and flush() or close() tries again. Where the fsync of a file failed each close() fails,
/// see file::sync(): all have to be written anew.
///
///     leat::sharded_tfrecord_writer_options options;
///     options.max_records = 10'000;
///     auto writer = co_await leat::sharded_tfrecord_writer::open("data/train", options);
///     co_await writer.write(record);
///     co_await writer.close();  // data/train-00000-of-00042.tfrecord, ...
///
/// Thread safety: thread-bound to the scheduler on which it was opened;
///                one operation at a time.
/// Cost: as tfrecord_writer; a sync of the device for each file.
class sharded_tfrecord_writer {
 public:
  /// Creates the first file. Without a record there is one empty file in the end.
  /// Errors: permission_denied, not_found for a missing directory, ...; invalid_argument for an
  ///         option out of range.
  [[nodiscard]] static task<sharded_tfrecord_writer> open(std::string prefix,
                                                          sharded_tfrecord_writer_options options);

  sharded_tfrecord_writer(sharded_tfrecord_writer&&) noexcept = default;
  sharded_tfrecord_writer& operator=(sharded_tfrecord_writer&&) = delete;

  /// Appends a record to the file whose turn it is. `payload` must live until the write has ended.
  /// Errors: failed_precondition after close(); resource_exhausted for a full disk; of the system.
  [[nodiscard]] task<void> write(byte_view payload);

  /// Hands everything written so far to the operating system. Errors: as write().
  [[nodiscard]] task<void> flush();

  /// Finishes the files and gives them their names. A second close does nothing.
  /// Errors: as write(); then no file has its name, and another close() goes on. If only the sync
  ///         of the directory fails, all have their names.
  [[nodiscard]] task<void> close();

  [[nodiscard]] std::uint64_t records_written() const noexcept { return records_; }
  /// Bytes of the records so far, frames included, before compression.
  [[nodiscard]] std::uint64_t bytes_written() const noexcept { return bytes_; }
  /// Files so far.
  [[nodiscard]] std::size_t shard_count() const noexcept { return shards_.size(); }
  /// The names of the files, in order; they have them once close() has succeeded.
  [[nodiscard]] std::vector<std::string> paths() const;

 private:
  struct shard {
    std::optional<detail::atomic_file> file;      // from the first write on
    std::optional<detail::output_buffer> output;  // until it is finished
    std::optional<detail::sidecar_index> index;
    std::uint64_t records = 0;
  };

  sharded_tfrecord_writer(std::string prefix, sharded_tfrecord_writer_options options);

  // True: to a fixed number of shards in turn. Else one shard is written after the other.
  [[nodiscard]] bool is_round_robin() const noexcept { return options_.shard_count > 0; }
  [[nodiscard]] bool is_full(const shard& s, std::size_t payload_size) const noexcept;
  [[nodiscard]] std::size_t choose_shard(std::size_t payload_size);
  void add_shard();
  [[nodiscard]] task<void> create_file(std::size_t index);
  [[nodiscard]] task<void> drain(std::size_t index, deflate_flush flush);
  [[nodiscard]] task<void> finish_before(std::size_t end);
  [[nodiscard]] task<void> commit_all(const std::vector<std::string>& names);
  [[nodiscard]] task<void> commit();

  detail::exclusive_use in_use_;
  std::string prefix_;
  sharded_tfrecord_writer_options options_;
  std::vector<shard> shards_;
  std::size_t finished_ = 0;  // so many of the first shards
  std::uint64_t records_ = 0;
  std::uint64_t bytes_ = 0;
  bool closing_ = false;
  bool closed_ = false;
};

}  // namespace leat
