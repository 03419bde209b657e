#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <sys/types.h>
#include <vector>

#include <leat/async/task.hpp>
#include <leat/base/bytes.hpp>
#include <leat/codec/compression/compression.hpp>

#include "input/file_format.hpp"
#include "terminal/output.hpp"
#include "terminal/progress.hpp"

namespace tool {

/// The mode and the owner of a file.
struct file_access {
  mode_t mode;
  uid_t owner;
  gid_t group;
};

/// The destination and the format of records.
struct sink_options {
  std::string path;  ///< "-": standard output; with shards, the prefix of their names
  format records = format::tfrecord;
  leat::compression compression = leat::compression::none;
  int level = -1;  ///< of compression
  std::size_t shards = 0;
  std::uint64_t max_records = UINT64_MAX;  ///< of a shard
  std::uint64_t max_bytes = UINT64_MAX;    ///< of a shard
  bool index = false;                      ///< create an index of each file; see can_have_index()
  std::optional<file_access> access = {};  ///< of a single file; default: as usual

  [[nodiscard]] bool is_sharded() const noexcept {
    return shards > 0 || max_records != UINT64_MAX || max_bytes != UINT64_MAX;
  }
  [[nodiscard]] bool can_have_index() const noexcept {
    return records == format::tfrecord && path != "-" && compression == leat::compression::none;
  }
};

/// Rejects a sink that would overwrite the input `path` with one of its files or their indexes. If
/// the number of files of a set is unknown, all possible names are rejected.
/// Errors: usage_error.
void throw_if_replaced(const std::string& path, const sink_options& sink);

/// Returns true if the sink creates or replaces a file of this name. The file need not exist.
[[nodiscard]] bool is_output(const std::string& path, const sink_options& sink);

/// Returns true if both paths lead to the same file, which need not exist.
[[nodiscard]] bool is_same_file(const std::string& a, const std::string& b);

/// Writes records. Its files appear under their names when close() succeeds. If it is destroyed
/// without close(), it leaves no files.
class record_sink {
 public:
  record_sink() = default;
  record_sink(const record_sink&) = delete;
  record_sink& operator=(const record_sink&) = delete;
  virtual ~record_sink() = default;

  [[nodiscard]] virtual leat::task<> write(leat::byte_view record) = 0;
  /// Writes the records so far to standard output. No effect on files, and on compressed data,
  /// which would become larger.
  [[nodiscard]] virtual leat::task<> flush() { co_return; }
  [[nodiscard]] virtual leat::task<> close() = 0;
  /// Returns the files that exist after close().
  [[nodiscard]] virtual std::vector<std::string> paths() const = 0;
};

/// Opens a sink. `out` is standard output. Errors: usage_error for options that contradict each
/// other; leat::failure.
[[nodiscard]] leat::task<std::unique_ptr<record_sink>> open_sink(sink_options options, output& out);

/// The number of records and bytes that were copied.
struct copy_totals {
  std::uint64_t records = 0;
  std::uint64_t payload_bytes = 0;
};

/// Writes the records of a reader to a sink, and counts them in `sum`. The records of a live input,
/// such as a pipe, are flushed whenever the input has no more at the moment.
template <class Reader>
leat::task<> copy_records(Reader& from, record_sink& to, progress& shown, copy_totals& sum) {
  typename Reader::batch_type batch;
  for (bool more = true; more;) {
    more = co_await from.read_batch(batch);
    std::uint64_t bytes = 0;
    for (const auto record : batch) {
      co_await to.write(std::as_bytes(std::span(record.data(), record.size())));
      bytes += record.size();
    }
    sum.records += batch.size();
    sum.payload_bytes += bytes;
    shown.add(bytes);
    if (from.status().is_stream) co_await to.flush();
  }
}

}  // namespace tool
