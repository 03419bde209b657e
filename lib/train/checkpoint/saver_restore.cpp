// How a saver restores.

#include <algorithm>
#include <exception>
#include <iterator>
#include <set>
#include <utility>

#include "base/internal/error_text.hpp"
#include "leat/base/error.hpp"
#include "leat/train/checkpoint/checkpoint_directory.hpp"
#include "train/checkpoint/checkpoint_file.hpp"
#include "train/checkpoint/rank_listing.hpp"
#include "train/checkpoint/saver_state.hpp"

namespace LEAT {
namespace {

// After more rounds, other ranks are still saving.
constexpr int max_rounds = 10;

// Errors after which an earlier checkpoint may help. Data that the device cannot read (EIO) has
// data_loss too. Other system errors, such as missing rights or memory, do not depend on the
// checkpoint.
bool allows_fallback(const std::error_code& code) noexcept {
  return code == errc::failed_precondition || code == errc::data_loss ||
         code == errc::invalid_argument;
}

// To restore an earlier checkpoint would silently repeat the work since then, sometimes all of it.
[[noreturn]] void throw_resume_error(const std::exception_ptr& why) {
  try {
    std::rethrow_exception(why);
  } catch (const failure& e) {
    throw failure(e.code(), detail::without_code_message(e) +
                                "; the checkpoint is intact, so no earlier one is used: correct "
                                "the cause, exclude the entry with saver_options::left_out, or "
                                "permit earlier checkpoints with saver_options::skip_intact");
  }
}

// Nothing is lost if the program starts from its initial values: there is no checkpoint.
[[noreturn]] void throw_no_checkpoint_error(const std::exception_ptr& why,
                                            const std::string& directory) {
  try {
    std::rethrow_exception(why);
  } catch (const failure& e) {
    throw failure(e.code(), detail::without_code_message(e) + "; '" + directory +
                                "' contains no checkpoint: copy one there, or remove the state "
                                "file to start from the initial values");
  }
}

}  // namespace

task<void> saver::state::restore_one(std::string path, detail::restore_phase& phase) {
  if (path.empty()) {
    throw failure(errc::invalid_argument, "saver: path is empty: pass the path of a checkpoint");
  }
  if (registry.empty()) co_return;
  const bool there = co_await checkpoint_exists(path);
  if (!there) {
    throw failure(errc::invalid_argument,
                  "The passed save_path is not a valid checkpoint: " + path);
  }
  const std::vector<std::string> not_restored =
      co_await detail::read_checkpoint(path, registry, options, phase);
  restored_partly = !not_restored.empty();
  if (!restored_partly) co_return;
  std::string names;
  for (const std::string& name : not_restored) names += (names.empty() ? "'" : ", '") + name + "'";
  warn(path + ": restored without " + names + ", as saver_options permits: they keep their values");
}

task<saver::state::candidates> saver::state::find_candidates() const {
  candidates c;
  listing l = co_await read_state();
  c.unreadable = l.unreadable;
  std::optional<checkpoint_state>& s = l.state;
  if (s) {
    const std::vector<detail::checkpoint_rotation::listed> newer = co_await find_unlisted(l, true);
    for (const auto& each : newer) c.paths.insert(c.paths.begin(), each.path);
  } else if (c.unreadable && !options.strict) {
    s = co_await scan_directory();
  }
  if (s) std::ranges::copy(restore_order(*s), std::back_inserter(c.paths));
  co_return c;
}

// Throws errors that do not justify another checkpoint.
task<saver::state::attempt> saver::state::try_to_restore(std::string path) {
  attempt a;
  detail::restore_phase phase = {};
  std::error_code code;
  try {
    co_await restore_one(path, phase);
  } catch (const failure& e) {
    code = e.code();
    if (code != errc::not_found && !allows_fallback(code)) throw;
    a.error = std::current_exception();
  }
  if (!a.error) co_return a;
  bool there = true;
  try {
    there = co_await checkpoint_exists(std::move(path));
  } catch (const failure& e) {
    if (!allows_fallback(e.code())) throw;
  }
  a.vanished = !there;
  if (there && code == errc::not_found) std::rethrow_exception(a.error);
  // All its bytes are intact then: an object that rejects them has another reason, such as its
  // input.
  a.cannot_resume = phase == detail::restore_phase::objects && code != errc::invalid_argument;
  a.is_foreign =
      phase != detail::restore_phase::table && code != errc::data_loss && !a.cannot_resume;
  co_return a;
}

// Another program may save meanwhile and delete a listed file: then it has listed others, which are
// tried.
task<std::optional<std::string>> saver::state::restore_latest() {
  const detail::exclusive_use::guard guard(in_use);
  if (registry.empty()) co_return std::nullopt;
  if (!options.rank_directories.empty()) co_return co_await restore_common_step();
  std::set<std::string> reported;
  const auto skip = [&](const std::string& path, const std::exception_ptr& why) {
    if (options.strict) std::rethrow_exception(why);
    if (reported.insert(path).second) report_skipped(path, why);
  };
  candidates now = co_await find_candidates();
  std::exception_ptr first;
  std::vector<std::string> foreign;
  for (bool again = true; again;) {
    again = false;
    first = nullptr;
    foreign.clear();
    if (now.unreadable) skip(in_directory(options.latest_filename), now.unreadable);
    if (now.unreadable && now.paths.empty()) throw_no_checkpoint_error(now.unreadable, directory);
    for (const std::string& path : now.paths) {
      const attempt a = co_await try_to_restore(path);
      if (!a.error) {
        for (const std::string& other : foreign) rotation.forget(other);
        co_return path;
      }
      candidates later;
      if (a.vanished) later = co_await find_candidates();
      again = a.vanished && later.paths != now.paths;
      if (again) {
        now = std::move(later);
        break;
      }
      const bool may_fall_back = !a.cannot_resume || a.vanished || options.skip_intact;
      if (!may_fall_back && !options.strict) throw_resume_error(a.error);
      skip(path, a.error);
      if (a.is_foreign) foreign.push_back(path);
      if (!first) first = a.error;
    }
  }
  if (first) std::rethrow_exception(first);
  co_return std::nullopt;
}

// Checkpoints after the common step belong to steps that are repeated. They are deleted, durably,
// before a new step can begin, so that old and new checkpoints are never combined.
task<void> saver::state::roll_back(const std::optional<rank_checkpoints>& to) {
  bool deleted = false;
  const std::vector<step_and_path> all = co_await list_checkpoints();
  for (const auto& [step, path] : all) {
    if (to && step <= to->step) continue;
    const bool is_one = co_await checkpoint_exists(path);
    if (!is_one) continue;  // a directory of this name
    if (!to)
      warn(path +
           ": checkpoint deleted, because not all ranks have saved one: the job starts from its "
           "initial values");
    co_await remove_checkpoint(path);
    rotation.forget(path);
    deleted = true;
  }
  if (to) {
    co_await list_as_newest(to->paths.back(), deleted);
  } else {
    co_await remove_stale_state_file();
  }
  if (options.durable) co_await sync_directory(directory);
}

// No program must look for deleted checkpoints.
task<void> saver::state::remove_stale_state_file() const {
  const listing l = co_await read_state();
  if (!l.state) co_return;
  const bool is_there = co_await checkpoint_exists(l.state->model_checkpoint_path);
  if (!is_there) co_await remove_file(in_directory(options.latest_filename));
}

// Removes deleted checkpoints from the state file.
task<void> saver::state::list_as_newest(const std::string& path, bool deleted) {
  const std::optional<wall_time_point> written = co_await detail::checkpoint_time(path);
  if (!written) co_return;
  rotation.make_newest(path, detail::unix_seconds(*written));
  const listing l = co_await read_state();
  const bool is_listed =
      l.state && detail::file_name_in(l.state->model_checkpoint_path) == detail::file_name_in(path);
  if (deleted || !is_listed) co_await write_state(rotation.state());
}

task<std::optional<std::string>> saver::state::restore_common_step() {
  rank_checkpoint_options o;
  o.basename = options.basename;
  o.pad_step_number = options.pad_step_number;
  o.strict = options.strict;
  o.on_skipped = options.on_skipped;
  std::vector<std::string> directories = options.rank_directories;
  std::erase(directories, directory);
  directories.push_back(directory);
  for (int round = 0; round < max_rounds; ++round) {
    const detail::rank_listings found = co_await detail::find_common_checkpoints(directories, o);
    std::optional<std::string> path;
    if (found.common) path = found.common->paths.back();
    detail::restore_phase phase = {};
    if (path) co_await restore_one(*path, phase);
    // Another rank may have saved during the restore. roll_back() deletes checkpoints only when the
    // common step is known to be still the same.
    const bool unchanged = co_await detail::are_unchanged(found, o);
    if (!unchanged) continue;
    if (found.ranks.back().exists) co_await roll_back(found.common);
    co_return path;
  }
  throw failure(errc::failed_precondition,
                directory +
                    ": other ranks save during the restore: stop all processes of "
                    "the job before you start any of them");
}

}  // namespace LEAT
