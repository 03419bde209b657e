#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "leat/base/clock.hpp"
#include "leat/files/file_backend.hpp"
#include "leat/sim/decision_source.hpp"
#include "leat/sim/world_part.hpp"

namespace LEAT::sim {

/// A fault of an operation on a file.
enum class fault : std::uint8_t {
  none,
  short_transfer,  ///< a read or write moves fewer bytes than requested, but at least one
  interrupted,     ///< EINTR; nothing has happened
  again,           ///< EAGAIN; nothing has happened
  cancelled_late,  ///< ECANCELED, although the read, write or sync has happened
  io_error,        ///< EIO; nothing has happened, except in a sync of a file: see file_system
  no_space,        ///< ENOSPC, in a write or an operation that creates a file or directory
  bit_flip,        ///< a read returns one wrong bit; the file is intact
  truncated,       ///< before a read, another process truncates the file at any offset
  replaced,        ///< before a read or an open, another file replaces this one: it has the first
                   ///< bytes of the old file; an open file still refers to the old one
  slow,            ///< the operation takes minutes
  crash_before,    ///< the machine stops before the operation
  crash_after,     ///< the machine stops after the operation
};

/// The probabilities of faults, for each operation in which the fault can occur.
struct fault_rates {
  /// Probability that a read or write moves fewer bytes than requested, but at least one.
  double short_transfer = 0;
  /// Probability that an operation fails with EINTR and has no effect.
  double interrupted = 0;
  /// Probability that an operation fails with EAGAIN and has no effect.
  double again = 0;
  /// Probability that a read, write or sync reports ECANCELED, although it has happened.
  double cancelled_late = 0;
  /// Probability that an operation fails with EIO. After a failed sync of a file, data may be lost.
  double io_error = 0;
  /// Probability that a write or the creation of a file or directory fails with ENOSPC.
  double no_space = 0;
  /// Probability that a read returns one wrong bit. The file is intact.
  double bit_flip = 0;
  /// Probability that another process truncates the file before a read.
  double truncated = 0;
  /// Probability that another file replaces this one before a read or an open.
  double replaced = 0;
  double slow = 0;   ///< in addition to any other fault
  double crash = 0;  ///< the machine stops before or after the operation
};

/// One fault in one operation: the `call`-th that the world requests, counted from 1. If the fault
/// cannot occur in that operation, such as `no_space` in a read, nothing happens.
///
/// A request that is first looked up in the page cache, and then submitted because it is not
/// there, is one call.
struct planned_fault {
  /// The number of the operation, counted from 1 in the order of the requests.
  std::uint64_t call = 0;
  /// The fault to cause.
  fault what = fault::none;
};

/// Options of a file_system.
struct file_system_options {
  fault_rates faults = {};                 ///< probabilities of random faults
  std::optional<planned_fault> plan = {};  ///< one fault in addition
  std::uint64_t size = UINT64_MAX;         ///< bytes; a write beyond fails with ENOSPC
  std::size_t max_open_files = SIZE_MAX;   ///< an open beyond fails with EMFILE
  /// The number of bytes of which a direct read must be a multiple, in the file and in memory. If
  /// 0, there are no direct reads.
  std::size_t direct_unit = 4096;
};

/// A file system in memory whose time, order and faults are decided by a decision_source.
///
/// Durability: operations take different times and complete in any order. Written data is on the
/// device only after a sync of the file, and a name only after a sync of its directory. After a
/// crash, restart() keeps or loses each other sector of 512 bytes. Of the changes of names it keeps
/// the first ones and loses the last ones, in the order of the changes. A directory is on the
/// device as soon as it is created.
///
/// Failed syncs: a sync of a file that fails with EIO loses some of the sectors that it had to
/// write to the device. Reads still return their new content, but no later sync writes them to the
/// device until the program writes them again. Linux behaves in this way.
///
/// Buffers: the whole buffer of an operation in flight is checked. If a byte has changed between
/// submission and completion, a violation is reported. The check does not detect code that only
/// reads the buffer, writes the bytes that it already contains, or restores them in time. Use the
/// address sanitizer to detect these.
///
/// Paths: all paths are treated as absolute; "." and repeated slashes are ignored.
///
/// Thread safety: thread-bound to the world's thread.
class file_system final : public file_backend, public world_part {
 public:
  /// Creates an empty file system, which calls `violation` with a message when a buffer is misused.
  file_system(decision_source& c, const file_system_options& options,
              std::function<void(std::string)> violation);

  // ---- For the test. These take effect immediately, without faults, and on the device.

  /// Creates a file with this content, and the directories above it. If another file of that name
  /// is open, its readers still read the old file.
  void write_file(const std::string& path, std::string_view content);

  /// Truncates a file, or extends it with zeros, even while it is open. Has no effect if there is
  /// no such file.
  void truncate(const std::string& path, std::size_t size);

  /// Returns the content of a file, or an empty optional if there is no such file.
  [[nodiscard]] std::optional<std::string> read_file(const std::string& path) const;

  /// Creates a directory and the directories above it.
  void make_directory(const std::string& path);

  /// Creates an empty pipe with a writer, and the directories above it. A read of the pipe from
  /// `at_stream_position` waits until the pipe has data or no writer.
  void make_pipe(const std::string& path);

  /// Appends text to the data that a pipe has for its readers.
  void write_pipe(const std::string& path, std::string_view text);

  /// Removes the writer of a pipe: the pipe ends after its remaining data.
  void close_pipe(const std::string& path);

  /// Returns the paths of all files.
  [[nodiscard]] std::vector<std::string> files() const;

  /// Returns the number of open files.
  [[nodiscard]] std::size_t open_files() const noexcept { return open_.size(); }

  /// Returns the number of operations requested so far, which planned_fault::call counts.
  [[nodiscard]] std::uint64_t calls() const noexcept { return calls_; }

  /// Returns true after a crash, when operations other than a close fail with EIO and none has an
  /// effect.
  [[nodiscard]] bool crashed() const noexcept { return crashed_; }

  /// Stops the machine now.
  void crash() noexcept { crashed_ = true; }

  /// Sets the files to their state after a crash: everything that was synced, and the part of the
  /// rest that the decisions keep. No file is open any more.
  void restart();

  /// Ends the program that uses the files, but not the machine: an operation in flight happens or
  /// not, all files are closed and all locks are released. What was written stays, synced or not.
  /// Until begin_process(), operations fail immediately with ECANCELED.
  void end_process();
  /// The next program may use the files.
  void begin_process() noexcept { is_ended_ = false; }

  // ---- world_part

  [[nodiscard]] std::string_view part_name() const noexcept override { return "files"; }
  void install(virtual_scheduler& thread) override;
  void set_time(time_point now, wall_time_point wall) noexcept override;
  [[nodiscard]] time_point next_completion() const noexcept override;
  [[nodiscard]] std::size_t due(time_point now) const noexcept override;
  std::string complete(std::size_t index) override;
  [[nodiscard]] std::string take_fault_text() noexcept override {
    return std::exchange(fault_text_, {});
  }

  // ---- file_backend

  [[nodiscard]] std::string_view name() const noexcept override { return "simulated"; }
  void submit(file_request& request) noexcept override;
  bool try_complete(file_request& request) noexcept override;
  void cancel(file_request& request) noexcept override;
  void execute_blocking(file_request& request) noexcept override;
  int set_direct(int handle, bool direct) noexcept override;
  [[nodiscard]] std::string owner_text() const override { return "process 1 on host simulated"; }
  [[nodiscard]] bool uses_descriptors() const noexcept override { return false; }

 private:
  static constexpr std::size_t sector_size = 512;  // is written whole, or not at all

  struct node {
    std::vector<std::byte> data;
    std::vector<std::byte> on_device;
    std::set<std::size_t> dirty;  // sectors that differ, or may
    std::set<std::size_t> lost;   // those that differ, and that no sync brings to the device
    std::int64_t modified_ns = 0;
    std::uint64_t inode = 0;
    bool is_pipe = false;
    bool is_closed = false;   // a pipe without a writer
    std::uint64_t taken = 0;  // bytes that the readers of a pipe have had
  };
  using name_map = std::map<std::string, std::shared_ptr<node>>;
  struct change {  // of the names, not on the device yet; one step: all of it or nothing
    std::vector<std::pair<std::string, std::shared_ptr<node>>> entries;  // null: removed
  };
  struct open_file {
    std::shared_ptr<node> target;  // null: a directory
    std::string path;
    std::uint64_t position = 0;
    bool reads = false;
    bool writes = false;
    bool is_direct = false;
    bool is_locked = false;
  };
  struct pending {
    file_request* request;
    time_point due;
    std::uint64_t order;
    fault what;
    std::uint64_t buffer_hash = 0;  // a hash of what the buffer must still hold
    bool cancelled = false;
    bool slow = false;
  };

  [[nodiscard]] bool is_planned(std::uint64_t call) const noexcept;
  [[nodiscard]] fault decide(const file_request& r);
  [[nodiscard]] fault draw(const file_request& r, std::uint64_t call);
  [[nodiscard]] static bool applies(fault f, const file_request& r) noexcept;
  [[nodiscard]] duration latency(pending& p);
  void enqueue(pending p);
  [[nodiscard]] std::string describe(const file_request& r) const;
  [[nodiscard]] bool waits_for_data(const file_request& r) const;
  void wake_waiting();
  static void hash_buffer(pending& p);
  void check_buffer(const pending& p) const;
  [[nodiscard]] std::int64_t perform(file_request& r, fault f);
  [[nodiscard]] std::int64_t execute(file_request& r, bool shortened, bool flipped);
  [[nodiscard]] std::int64_t open(const file_request& r);
  [[nodiscard]] std::int64_t read(file_request& r, bool shortened, bool flipped);
  [[nodiscard]] bool violates_alignment(const file_request& r, const open_file& f) const noexcept;
  [[nodiscard]] std::int64_t write(file_request& r, bool shortened);
  [[nodiscard]] std::int64_t sync(const file_request& r);
  void lose_sectors(const file_request& r);
  [[nodiscard]] std::int64_t sync_directory(const std::string& directory);
  [[nodiscard]] std::int64_t truncate(const file_request& r);
  [[nodiscard]] std::int64_t lock(const file_request& r);
  [[nodiscard]] std::shared_ptr<node> make_node();
  [[nodiscard]] static file_status make_status(const node* n);
  [[nodiscard]] std::int64_t status(const file_request& r) const;
  [[nodiscard]] std::int64_t list(const file_request& r) const;
  [[nodiscard]] std::int64_t new_directory(const std::string& path);
  void apply_fault(const file_request& r, fault f);
  void resize(node& n, std::size_t size) const;
  void rename(const std::string& from, const std::string& to);
  void apply_change(change c);
  void set_name_on_device(const std::string& path, std::shared_ptr<node> n);
  [[nodiscard]] std::uint64_t bytes_used() const noexcept;
  static void keep_sectors(decision_source& c, node& n);

  decision_source& decisions_;
  const file_system_options options_;
  const std::function<void(std::string)> violation_;
  name_map names_;
  name_map names_on_device_;
  std::set<std::string> directories_{"/"};
  std::vector<change> changes_;
  std::map<int, open_file> open_;
  int first_handle_ = 3;
  int highest_handle_ = 2;
  std::vector<pending> pending_;  // by due time, then order
  std::uint64_t order_ = 0;
  std::uint64_t calls_ = 0;
  fault deferred_fault_ = fault::none;  // for the next call that it can befall
  std::string fault_text_;
  std::uint64_t nodes_ = 0;  // made so far
  time_point now_{};
  std::int64_t wall_ns_ = 0;
  bool crashed_ = false;
  bool is_ended_ = false;  // the process
};

}  // namespace LEAT::sim
