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
#include "leat/base/detail/exclusive_use.hpp"
#include "leat/io/file/file.hpp"
#include "leat/io/stream/detail/chunk.hpp"

namespace leat {

/// How whole files are read.
struct file_prefetcher_options {
  /// Files that are open and under way at a time, 1 to 4096; one more where descriptors or memory
  /// are short. One where all is in the page cache.
  std::size_t depth = 64;
  /// Bytes; a larger file is an error.
  std::uint64_t max_file_size = std::uint64_t{1} << 30;
  /// Bytes of files that are read ahead of the one that comes next, which is read in any case.
  std::uint64_t max_bytes_ahead = std::uint64_t{64} << 20;
  /// False: a file that cannot be read is returned as a result. True: its error is thrown, and no
  /// later file is returned until it has been read.
  bool stop_on_first_error = false;
  /// Past the page cache, which is not asked either: for files that are read once. Where a file
  /// system has no such way, through it.
  bool direct = false;
};

/// A file that was read, or why it could not be.
///
/// The contents live as long as this object or a copy of it, and may be moved to another thread.
/// Thread safety: thread-compatible.
class loaded_file {
 public:
  [[nodiscard]] const std::string& path() const noexcept { return path_; }

  /// Null when it was read. A failure, which names the path. After an error of the system, such as
  /// EIO, add() that path to read the file again.
  [[nodiscard]] const std::exception_ptr& error() const noexcept { return error_; }

  /// What is in the file. Errors: error(), if there is one.
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

/// Reads whole files, several at a time, and gives them in the order in which it was given their
/// paths.
///
/// What is in the page cache is read in the call, one file at a time. At the first that is not,
/// `depth` files are opened, read and closed beside each other.
///
///     leat::file_prefetcher files(paths);
///     leat::loaded_file file;
///     while (co_await files.next(file)) use(file.path(), file.contents());
///
/// A source that has to be waited for, such as a queue of paths, calls add() as long as
/// has_capacity().
///
/// For many files at full speed. whole_file_reader reads one file as a record, with a key, a state,
/// compression and a corruption policy, and so is what a queue_reader takes.
///
/// A file is as long as it was when it was opened. A directory, a pipe or a device is an error of
/// its own. Where descriptors are short, fewer files than `depth` are under way.
///
/// Thread safety: thread-bound to the scheduler on which it is first used.
/// TensorFlow: WholeFileReader.
class file_prefetcher {
 public:
  /// Gives the next path, or none at the end.
  using source = std::function<std::optional<std::string>()>;

  /// Reads what add() is given. Errors: invalid_argument for options out of range.
  explicit file_prefetcher(const file_prefetcher_options& options = {});

  /// Reads the files of a list, and then what add() is given.
  explicit file_prefetcher(std::vector<std::string> paths,
                           const file_prefetcher_options& options = {});

  /// Reads the files whose paths `paths` gives, when their turn has come.
  explicit file_prefetcher(source paths, const file_prefetcher_options& options = {});

  file_prefetcher(const file_prefetcher&) = delete;
  file_prefetcher& operator=(const file_prefetcher&) = delete;

  /// Leaves the reads that are under way to themselves; their files are closed when they end.
  ~file_prefetcher();

  /// Replaces `out` by the next file, waiting until it is read. False after the last one: `out` is
  /// empty then.
  ///
  /// Errors:       what the source throws; with `stop_on_first_error` that of the file. No file is
  ///               lost by either: the next call asks the source again, or reads that file again
  ///               from its beginning. So an error of the system, such as EIO, does not repeat
  ///               unless its cause lasts.
  /// Cancellation: total: no file is lost, the next call goes on.
  /// Cost:         from the page cache about that of open, fstat, read and close.
  [[nodiscard]] task<bool> next(loaded_file& out,
                                std::source_location where = std::source_location::current());

  /// True when to add another path makes the reading faster: fewer than `depth` files are under
  /// way, and some have to wait for a device; or there is none.
  [[nodiscard]] bool has_capacity() const noexcept;

  /// Adds a file, which is read after those that were added before. Call it from a task of the
  /// scheduler. Without has_capacity() the path is kept, and the read starts later.
  void add(std::string path);

  /// Files that were added and not given yet.
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

}  // namespace leat
