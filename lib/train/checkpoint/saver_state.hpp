#pragma once

#include <chrono>
#include <cstdint>
#include <exception>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "leat/async/scheduler/scheduler.hpp"
#include "leat/base/internal/exclusive_use.hpp"
#include "leat/io/file/file.hpp"
#include "leat/train/checkpoint/rank_checkpoints.hpp"
#include "leat/train/checkpoint/saver.hpp"
#include "train/checkpoint/checkpoint_file.hpp"
#include "train/checkpoint/checkpoint_paths.hpp"
#include "train/checkpoint/checkpoint_rotation.hpp"

namespace LEAT {

namespace detail {

inline double unix_seconds(wall_time_point t) noexcept {
  return std::chrono::duration<double>(t.time_since_epoch()).count();
}

/// A path without the directory.
inline std::string_view file_name_in(std::string_view path) noexcept {
  return path.substr(path.rfind('/') + 1);  // npos + 1 is 0
}

}  // namespace detail

struct saver::state {
  state(std::string d, const checkpoint_registry& w, saver_options o, scheduler& s)
      : directory(std::move(d)),
        registry(w),
        options(std::move(o)),
        sched(s),
        rotation(options.max_to_keep, std::chrono::duration<double>(options.keep_every).count(),
                 detail::unix_seconds(s.wall_time())) {}

  void warn(const std::string& sentence) const {
    if (options.on_warning) options.on_warning(sentence);
  }
  // A warning about an error that later programs can resolve. A stop is not reported.
  void warn_about(const failure& e, std::string_view before) const {
    if (e.code() != errc::cancelled) warn(std::string(before) + e.what());
  }
  void report_skipped(const std::string& path, std::exception_ptr error) const {
    if (options.on_skipped) options.on_skipped(path, std::move(error));
  }

  [[nodiscard]] std::string in_directory(const std::string& name) const {
    return detail::path_in(directory, name);
  }
  // A checkpoint with its step.
  using step_and_path = std::pair<std::uint64_t, std::string>;
  [[nodiscard]] bool is_checkpoint(std::string_view name, std::uint64_t& step) const;
  [[nodiscard]] bool is_leftover(std::string_view name) const;

  [[nodiscard]] task<std::vector<std::string>> list() const {
    return list_directory(directory.empty() ? "." : directory);
  }
  // The content of the state file, and a lower bound of its time.
  struct listing {
    std::optional<checkpoint_state> state = {};
    std::exception_ptr unreadable = {};
    std::optional<wall_time_point> since = {};
  };
  task<listing> read_state() const;
  void normalize_paths(checkpoint_state& s) const;
  task<std::vector<step_and_path>> list_checkpoints() const;
  task<std::vector<std::string>> list_oldest_first() const;
  task<std::optional<checkpoint_state>> scan_directory() const;
  task<std::vector<detail::checkpoint_rotation::listed>> find_unlisted(const listing& l,
                                                                       bool unknown) const;
  task<checkpoint_state> newest_own(std::optional<std::size_t> most) const;
  task<void> report_unlisted() const;
  task<void> recover();

  task<void> prepare();
  task<void> write_state(checkpoint_state s) const;
  task<void> delete_old();
  task<std::string> save(std::string path);

  // The checkpoints to restore, the best first.
  struct candidates {
    std::vector<std::string> paths = {};
    std::exception_ptr unreadable = {};  // the state file
  };
  task<candidates> find_candidates() const;
  // The result for one of them.
  struct attempt {
    std::exception_ptr error = {};  // null: restored
    bool vanished = false;          // it no longer exists
    bool is_foreign = false;        // it is intact, and of another program
    bool cannot_resume = false;     // it is of this program, and cannot be restored at present
  };
  task<void> restore_one(std::string path, detail::restore_phase& phase);
  task<attempt> try_to_restore(std::string path);
  task<std::optional<std::string>> restore_latest();
  task<std::optional<std::string>> restore_common_step();
  task<void> roll_back(const std::optional<rank_checkpoints>& to);
  task<void> remove_stale_state_file() const;
  task<void> list_as_newest(const std::string& path, bool deleted);

  const std::string directory;
  const checkpoint_registry& registry;
  const saver_options options;
  scheduler& sched;
  detail::checkpoint_rotation rotation;
  std::function<task<void>()> before_write = {};
  detail::exclusive_use in_use;
  bool cleaned = false;
  bool restored_partly = false;  // the last restore left out entries
};

}  // namespace LEAT
