#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <source_location>
#include <string>
#include <vector>

#include "leat/async/task.hpp"
#include "leat/base/bytes.hpp"
#include "leat/base/internal/exclusive_use.hpp"
#include "leat/io/file/file.hpp"
#include "leat/io/stream/detail/chunk.hpp"

namespace LEAT {

/// Options of file_prefetcher.
struct file_prefetcher_options {
  /// The number of files that are open and in progress at a time, 1 to 4096; one more if
  /// descriptors or memory are scarce. It is 1 while all files are in the page cache.
  std::size_t depth = 64;
  /// In bytes; a larger file is an error.
  std::uint64_t max_file_size = std::uint64_t{1} << 30;
  /// Limit in bytes on the files that are read ahead of the next one. The next file itself is
  /// always read.
  std::uint64_t max_bytes_ahead = std::uint64_t{64} << 20;
  /// If false, a file that cannot be read is returned as a result. If true, next() throws its error
  /// and returns no later file until that file has been read.
  bool stop_on_first_error = false;
  /// If true, reads bypass the page cache and do not look for the data there: for files that are
  /// read once. If the file system does not support this, they go through the page cache.
  bool direct = false;
};

/// A file that was read, or the error if it could not be read.
///
/// The contents are valid as long as this object or a copy of it exists, and may be moved to
/// another thread.
/// Thread safety: thread-compatible.
class loaded_file {
 public:
  /// Returns the path of the file.
  [[nodiscard]] const std::string& path() const noexcept { return path_; }

  /// Returns null if the file was read, or a failure that names the path. After a system error,
  /// such as EIO, add() the path to read the file again.
  [[nodiscard]] const std::exception_ptr& error() const noexcept { return error_; }

  /// Returns the contents of the file. Errors: error(), if it is set.
  [[nodiscard]] byte_view contents() const {
    if (error_) std::rethrow_exception(error_);
    return contents_;
  }

 private:
  friend class file_prefetcher;

  std::string path_;
  std::exception_ptr error_;
  byte_view contents_;
  detail::chunk_reference keeper_;
};

/// A prefetcher of whole files. It reads several at a time and returns them in the order in which
/// their paths were added.
///
/// Files in the page cache are read in the call, one at a time. From the first file that is not
/// there, `depth` files are opened, read and closed concurrently.
///
///     leat::file_prefetcher files(paths);
///     leat::loaded_file file;
///     while (co_await files.next(file)) use(file.path(), file.contents());
///
/// If the paths come from a source that has to be waited for, such as a queue, call add() as long
/// as has_capacity() returns true.
///
/// Use a file_prefetcher to read many files at full speed. Use a whole_file_reader to read one file
/// as a record, with a key, a state, compression and a corruption policy, as a
/// filename_queue_reader needs.
///
/// A file is read up to the size that it had when it was opened. A directory, a pipe or a device
/// counts as a file that cannot be read, with an error of its own. If descriptors are scarce, fewer
/// than `depth` files are in progress.
///
/// Thread safety: thread-bound to the scheduler on which it is first used.
/// TensorFlow: WholeFileReader.
class file_prefetcher {
 public:
  /// A function that returns the next path, or an empty optional at the end.
  using source = std::function<std::optional<std::string>()>;

  /// Reads the files passed to add(). Errors: invalid_argument for options that are out of range.
  explicit file_prefetcher(const file_prefetcher_options& options = {});

  /// Reads the files of a list, and then those passed to add().
  explicit file_prefetcher(std::vector<std::string> paths,
                           const file_prefetcher_options& options = {});

  /// Reads the files whose paths `paths` returns; it is called when another file can be started.
  explicit file_prefetcher(source paths, const file_prefetcher_options& options = {});

  file_prefetcher(const file_prefetcher&) = delete;
  file_prefetcher& operator=(const file_prefetcher&) = delete;

  /// Does not wait for reads in flight; their files are closed when these end.
  ~file_prefetcher();

  /// Replaces `out` with the next file, waiting until it has been read. Returns true, or false with
  /// an empty `out` after the last file.
  ///
  /// Errors:       those that the source throws; with `stop_on_first_error`, the error of the file.
  ///               Neither error loses a file: the next call calls the source again, or reads the
  ///               file again from its beginning. So a system error, such as EIO, repeats only if
  ///               its cause persists.
  /// Cancellation: total. No file is lost, and the next call continues.
  /// Cost:         for a file in the page cache, about that of open, fstat, read and close.
  [[nodiscard]] task<bool> next(loaded_file& out,
                                std::source_location where = std::source_location::current());

  /// Returns true if adding another path makes reading faster: if count() is 0, or if count() is
  /// less than `depth` and some files wait for a device.
  [[nodiscard]] bool has_capacity() const noexcept;

  /// Adds a file, which is read after those added before. Call it from a task on the scheduler. If
  /// has_capacity() returns false, the path is kept and its read starts later.
  void add(std::string path);

  /// Returns the number of files that were added and not yet returned.
  [[nodiscard]] std::size_t count() const noexcept { return files_.size(); }

 private:
  struct shared;
  struct entry;

  void find_backend();
  void append_entry(std::string path);
  void restart_first();
  [[nodiscard]] bool read_or_add(std::string path, loaded_file& out);

  source source_;
  detail::exclusive_use in_use_;
  std::shared_ptr<shared> shared_;
  std::deque<std::shared_ptr<entry>> files_;
  bool first_has_failed_ = false;  // its error was thrown
};

}  // namespace LEAT
