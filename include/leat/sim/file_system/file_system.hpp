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
#include "leat/io/backend/file_backend.hpp"
#include "leat/sim/decision_source.hpp"

namespace leat::sim {

/// What can go wrong with an operation on a file.
enum class fault : std::uint8_t {
  none,
  short_transfer,  ///< a read or write moves fewer bytes than asked for, at least one
  interrupted,     ///< EINTR: nothing has happened
  again,           ///< EAGAIN: nothing has happened
  cancelled_late,  ///< ECANCELED, although a read or write has happened
  io_error,        ///< EIO: nothing has happened; of a file's sync: see file_system
  no_space,        ///< ENOSPC: a write, or an operation that makes a file or directory
  bit_flip,        ///< a read brings one wrong bit; the file is right
  truncated,       ///< before a read, somebody else cuts the file anywhere
  replaced,        ///< before a read or an open, another file takes the name: some first bytes of
                   ///< the old one; who has that open still reads that
  slow,            ///< the operation takes minutes
  crash_before,    ///< the machine stops before the operation
  crash_after,     ///< and after it
};

/// How often each fault happens, as a probability for each operation that it can befall.
struct fault_rates {
  double short_transfer = 0;
  double interrupted = 0;
  double again = 0;
  double cancelled_late = 0;
  double io_error = 0;
  double no_space = 0;
  double bit_flip = 0;
  double truncated = 0;
  double replaced = 0;
  double slow = 0;   ///< besides any other
  double crash = 0;  ///< the machine stops, before the operation or after it
};

/// One fault at one operation: the `call`-th that the world asks for, counted from 1. Nothing
/// happens where the fault cannot befall that one, as `no_space` a read.
///
/// A request that is first looked for in the page cache, and then submitted since it is not there,
/// is one call.
struct planned_fault {
  std::uint64_t call = 0;
  fault what = fault::none;
};

/// What a file system is made of.
struct file_system_options {
  fault_rates faults = {};
  std::optional<planned_fault> plan = {};
  std::uint64_t size = UINT64_MAX;        ///< bytes; a write beyond is ENOSPC
  std::size_t max_open_files = SIZE_MAX;  ///< an open beyond is EMFILE
  /// Bytes: what a direct read must be a multiple of, in the file and in memory; 0: there are none.
  std::size_t direct_unit = 4096;
};

/// A file system in memory, whose time, order and faults a decision_source decides.
///
/// Operations take a time of their own and complete in any order. What was written is on the
/// device only once it was synced, and a name only once its directory was: restart() after a crash
/// keeps or loses the rest, sector by sector of 512 bytes, and change by change of the names. A
/// directory is on the device as soon as it is made.
///
/// A sync of a file that fails with EIO has lost some of the sectors that it was to bring to the
/// device: they are read back as they were written, and no later sync brings them, until they are
/// written again. So it is on Linux.
///
/// The buffer of an operation under way is watched, all of it: when it completes a byte that is not
/// what it was when it was submitted is told. Not told is who only reads it, writes what is there
/// already or changes it back in time: that takes the address sanitizer.
///
/// Paths are taken as absolute; "." and doubled slashes are left out.
///
/// Thread safety: thread-bound to the world's thread.
class file_system final : public file_backend {
 public:
  /// `violation` is called with a sentence when a buffer was misused.
  file_system(decision_source& c, const file_system_options& options,
              std::function<void(std::string)> violation);

  // ---- For the test: at once, without faults, and on the device.

  /// Makes a file with this content, and the directories above it. Who has another one of that
  /// name open still reads that.
  void write_file(const std::string& path, std::string_view content);

  /// Cuts a file, or fills it up with zeros, under those who read it. Nothing without such a file.
  void truncate(const std::string& path, std::size_t size);

  /// The content of a file; empty when there is none.
  [[nodiscard]] std::optional<std::string> read_file(const std::string& path) const;

  /// Makes a directory and those above it.
  void make_directory(const std::string& path);

  /// Makes a pipe, empty and with a writer, and the directories above it. A read of it from
  /// `at_stream_position` waits until it has data, or no writer.
  void make_pipe(const std::string& path);

  /// Adds to what a pipe has for its readers.
  void write_pipe(const std::string& path, std::string_view text);

  /// Takes away a pipe's writer: it ends behind what it has.
  void close_pipe(const std::string& path);

  /// Paths of all files.
  [[nodiscard]] std::vector<std::string> files() const;

  /// Files that are open.
  [[nodiscard]] std::size_t open_files() const noexcept { return open_.size(); }

  /// Operations asked for so far: what planned_fault counts.
  [[nodiscard]] std::uint64_t calls() const noexcept { return calls_; }

  /// True from a crash on: operations end as EIO and change nothing.
  [[nodiscard]] bool crashed() const noexcept { return crashed_; }

  /// The machine stops now.
  void crash() noexcept { crashed_ = true; }

  /// Brings the files into their state after a crash: all that was synced, and of the rest what the
  /// decisions keep. Open files are gone.
  void restart();

  // ---- For the world.

  /// When the next operation completes; no_deadline when none is under way.
  [[nodiscard]] time_point next_completion() const noexcept;

  /// How many operations may complete by now.
  [[nodiscard]] std::size_t due(time_point now) const noexcept;

  /// Completes one of those, counted from the earliest; gives what it was.
  std::string complete(std::size_t index);

  /// What has befallen operations that were answered at once, since this was last asked; empty
  /// where nothing has.
  [[nodiscard]] std::string take_fault_text() noexcept { return std::exchange(fault_text_, {}); }

  /// The time now, for latencies, and that on the wall, for file times.
  void set_time(time_point now, std::int64_t wall_ns) noexcept {
    now_ = now;
    wall_ns_ = wall_ns;
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
};

}  // namespace leat::sim
