#include "leat/train/checkpoint/saver.hpp"

#include <algorithm>
#include <exception>
#include <filesystem>
#include <string_view>
#include <utility>

#include "base/internal/error_text.hpp"
#include "leat/async/this_task.hpp"
#include "leat/base/error.hpp"
#include "leat/base/internal/assert.hpp"
#include "leat/train/checkpoint/checkpoint_directory.hpp"
#include "train/checkpoint/checkpoint_file.hpp"
#include "train/checkpoint/saver_state.hpp"

namespace LEAT {
namespace {

task<void> sync_file(std::string path) {
  file f = co_await file::open(std::move(path));
  co_await f.sync();
}

// A misspelt name would permit nothing.
void check_permitted(const checkpoint_registry& registry, const saver_options& o) {
  const auto is_registered = [&](const std::string& name) {
    return std::ranges::any_of(registry.items(), [&](const auto& i) { return i->name() == name; });
  };
  const auto require = [&](bool wanted, std::string_view option, const std::string& name) {
    if (is_registered(name) == wanted) return;
    throw failure(errc::invalid_argument,
                  "saver: " + std::string(option) + " names '" + name + "', which the registry " +
                      (wanted ? "does not contain: register it, or correct the name"
                              : "contains: remove one of the two"));
  };
  for (const std::string& name : o.may_be_missing) require(true, "may_be_missing", name);
  for (const std::string& name : o.left_out) require(true, "left_out", name);
  for (const std::string& name : o.may_be_extra) require(false, "may_be_extra", name);
  for (const renamed_entry& r : o.renamed) {
    require(true, "renamed", r.to);
    require(false, "renamed", r.from);
  }
}

void check_options(const std::string& directory, const checkpoint_registry& registry,
                   const saver_options& o) {
  const auto refuse = [](const std::string& why) {
    throw failure(errc::invalid_argument, "saver: " + why);
  };
  const auto check_name = [&](std::string_view option, const std::string& name) {
    if (!name.empty() && name.find('/') == std::string::npos) return;
    refuse(std::string(option) + " '" + name +
           "' is not the name of a file: it must not be empty or contain a '/'");
  };
  if (directory.empty()) {
    refuse("path of the directory is empty: use \".\" for the current directory");
  }
  if (registry.empty() && !o.allow_empty) {
    refuse("No variables to save: add some to the registry, or set allow_empty");
  }
  check_name("basename", o.basename);
  check_name("latest_filename", o.latest_filename);
  std::uint64_t step = 0;
  const std::string& list = o.latest_filename;
  if (detail::is_checkpoint_name(list, o.basename, step) ||
      !detail::strip_partial_suffix(list).empty()) {
    refuse("latest_filename '" + list +
           "' is the name of a checkpoint or of a partial file, and would be "
           "replaced or removed: use a different name");
  }
  if (!o.rank_directories.empty() && (o.max_to_keep == 1U || o.max_to_keep == 2U)) {
    refuse("max_to_keep is " + std::to_string(*o.max_to_keep) +
           ", but rank_directories requires at least 3");
  }
  check_permitted(registry, o);
  if (o.keep_every < duration::zero())
    refuse("keep_every is negative: set 0 to keep no checkpoint permanently");
}

}  // namespace

// ----------------------------------------------------------------------------- what there is

// BASENAME-STEP.
bool saver::state::is_checkpoint(std::string_view name, std::uint64_t& step) const {
  return detail::is_checkpoint_name(name, options.basename, step);
}

// A partial file of a program that was killed.
bool saver::state::is_leftover(std::string_view name) const {
  const std::string_view whole = detail::strip_partial_suffix(name);
  std::uint64_t step = 0;
  return whole == options.latest_filename || whole == options.basename ||
         is_checkpoint(whole, step);
}

// Each name in the directory has one spelling, however it was written.
void saver::state::normalize_paths(checkpoint_state& s) const {
  const auto here = std::filesystem::path(in_directory("x")).lexically_normal().parent_path();
  const auto normalize = [&](std::string& path) {
    const auto normal = std::filesystem::path(path).lexically_normal();
    if (normal.parent_path() == here) path = in_directory(normal.filename().string());
  };
  normalize(s.model_checkpoint_path);
  std::ranges::for_each(s.all_model_checkpoint_paths, normalize);
}

// Text that is not a state is `unreadable`. The time is read first: if the file is replaced
// meanwhile, it lists the files that it would have hidden.
task<saver::state::listing> saver::state::read_state() const {
  listing l;
  l.since = co_await detail::checkpoint_time(in_directory(options.latest_filename));
  try {
    l.state = co_await detail::read_checkpoint_state(directory, options.latest_filename);
    if (l.state) normalize_paths(*l.state);
  } catch (const failure& e) {
    if (e.code() != errc::invalid_argument) throw;
    l.unreadable = std::current_exception();
  }
  co_return l;
}

// All checkpoints in the directory, by step.
task<std::vector<saver::state::step_and_path>> saver::state::list_checkpoints() const {
  std::vector<step_and_path> found;
  const std::vector<std::string> names = co_await list();
  for (const std::string& name : names) {
    std::uint64_t step = 0;
    if (is_checkpoint(name, step)) found.emplace_back(step, in_directory(name));
  }
  std::sort(found.begin(), found.end());
  co_return found;
}

// The checkpoints of the directory by step. A checkpoint without a step, of a program that does not
// count steps, is the newest if its file is newer than that of the highest step, otherwise the
// oldest.
task<std::vector<std::string>> saver::state::list_oldest_first() const {
  std::vector<std::string> paths;
  const std::vector<step_and_path> found = co_await list_checkpoints();
  for (const auto& [step, path] : found) paths.push_back(path);
  const std::string plain = in_directory(options.basename);
  const std::optional<wall_time_point> written = co_await detail::checkpoint_time(plain);
  if (!written || options.basename == options.latest_filename) co_return paths;
  std::optional<wall_time_point> highest;
  if (!paths.empty()) highest = co_await detail::checkpoint_time(paths.back());
  paths.insert(!highest || *written > *highest ? paths.end() : paths.begin(), plain);
  co_return paths;
}

// The state that a state file would contain if it could be read.
task<std::optional<checkpoint_state>> saver::state::scan_directory() const {
  checkpoint_state s;
  s.all_model_checkpoint_paths = co_await list_oldest_first();
  if (s.all_model_checkpoint_paths.empty()) co_return std::nullopt;
  s.model_checkpoint_path = s.all_model_checkpoint_paths.back();
  co_return s;
}

// Checkpoints that a killed program could not list, oldest first: complete checkpoints of this
// program after the newest listed one. A checkpoint older than the state file was removed from
// the list, or is kept permanently. `unknown`: the result for a checkpoint that the device cannot
// read.
task<std::vector<detail::checkpoint_rotation::listed>> saver::state::find_unlisted(
    const listing& l, bool unknown) const {
  std::vector<detail::checkpoint_rotation::listed> found;
  const checkpoint_state& s = *l.state;
  std::uint64_t newest = 0;
  const bool has_step = is_checkpoint(detail::file_name_in(s.model_checkpoint_path), newest);
  const std::vector<step_and_path> there = co_await list_checkpoints();
  for (const auto& [step, path] : there) {
    const auto is_it = [&](const std::string& listed) {
      return detail::file_name_in(listed) == detail::file_name_in(path);
    };
    if (has_step && step <= newest) continue;
    if (std::ranges::any_of(s.all_model_checkpoint_paths, is_it)) continue;
    const std::optional<wall_time_point> written = co_await detail::checkpoint_time(path);
    if (!written || !l.since || *written < *l.since) continue;
    const std::optional<bool> is_own = co_await detail::is_checkpoint_of(path, registry);
    if (is_own.value_or(unknown)) found.push_back({path, detail::unix_seconds(*written)});
  }
  co_return found;
}

// The checkpoints to continue with if no list says which may be deleted: at most this many, and
// only of this program. Others may belong to another program or be kept permanently.
task<checkpoint_state> saver::state::newest_own(std::optional<std::size_t> most) const {
  checkpoint_state s;
  const std::vector<std::string> there = co_await list_oldest_first();
  std::vector<std::string>& own = s.all_model_checkpoint_paths;
  for (auto each = there.rbegin(); each != there.rend(); ++each) {
    if (most && own.size() >= *most) break;
    const std::optional<bool> is_own = co_await detail::is_checkpoint_of(*each, registry);
    if (is_own == true) own.push_back(*each);
  }
  std::ranges::reverse(own);
  if (!own.empty()) s.model_checkpoint_path = own.back();
  co_return s;
}

// None is restored: a crash in the very first save leaves one, and to restore a copy that the user
// put there would be worse. But the user must know that the state file is missing.
task<void> saver::state::report_unlisted() const {
  checkpoint_state found;
  try {
    found = co_await newest_own(std::nullopt);
  } catch (const failure& e) {  // such as a missing directory; nothing else depends on it
    if (e.code() == errc::cancelled) throw;
  }
  const std::size_t count = found.all_model_checkpoint_paths.size();
  if (count == 0) co_return;
  checkpoint_state wanted;
  wanted.model_checkpoint_path = detail::file_name_in(found.model_checkpoint_path);
  std::string line = wanted.to_text();
  line.pop_back();  // its line end
  warn(directory + ": state file is missing, but the directory has " + std::to_string(count) +
       " complete checkpoints of this program, the newest is " + wanted.model_checkpoint_path +
       ": the saver neither restores nor deletes them; to resume from the newest, stop the program "
       "and write " +
       line + " into " + in_directory(options.latest_filename));
}

task<void> saver::state::recover() {
  listing l = co_await read_state();
  std::optional<checkpoint_state>& s = l.state;
  std::vector<detail::checkpoint_rotation::listed> newer;
  if (s) newer = co_await find_unlisted(l, false);  // the list may be of another program
  if (l.unreadable) {
    s = co_await newest_own(options.max_to_keep);
    const std::string newest(detail::file_name_in(s->model_checkpoint_path));
    warn(in_directory(options.latest_filename) +
         ": state file cannot be read: the saver uses the newest checkpoints of this program "
         "in the directory (" +
         (newest.empty() ? "no checkpoint found" : "the newest is " + newest) +
         ") and never deletes the others");
  }
  if (!s && options.rank_directories.empty()) co_await report_unlisted();
  if (!s) co_return;
  std::vector<std::optional<double>> modified;
  for (const std::string& path : s->all_model_checkpoint_paths) {
    const std::optional<wall_time_point> written = co_await detail::checkpoint_time(path);
    modified.push_back(written ? std::optional(detail::unix_seconds(*written)) : std::nullopt);
  }
  const double now = detail::unix_seconds(sched.wall_time());
  if (rotation.recover(*s, modified, now)) {
    warn(directory +
         ": clock was set back after the last checkpoint: earlier checkpoints are "
         "never deleted");
  }
  for (auto& [path, time] : newer) rotation.add(std::move(path), std::min(time, now));
}

// ------------------------------------------------------------------------------------ saving

// Creates the directory, and removes partial files of an earlier program.
task<void> saver::state::prepare() {
  try {
    co_await make_directories(directory);
  } catch (const failure& e) {
    if (e.code() == errc::failed_precondition || e.code() == errc::not_found) {
      throw failure(errc::invalid_argument,
                    "Parent directory of " + in_directory(options.basename) +
                        " doesn't exist, can't save: " + detail::without_code_message(e));
    }
    throw;
  }
  if (cleaned) co_return;
  const std::vector<std::string> names = co_await list();
  for (const std::string& name : names) {
    if (!is_leftover(name)) continue;
    try {
      co_await remove_file(in_directory(name));
    } catch (const failure& e) {
      if (e.code() == errc::cancelled) throw;
      warn_about(e, "partial file of an earlier program cannot be removed: ");
    }
  }
  cleaned = true;
}

task<void> saver::state::write_state(checkpoint_state s) const {
  checkpoint_state_options o;
  o.latest_filename = options.latest_filename;
  o.save_relative_paths = true;
  o.durable = options.durable;
  co_await update_checkpoint_state(directory, std::move(s), std::move(o));
}

// Deletes all above the limit. The newest is safe: from here on, errors are not thrown.
task<void> saver::state::delete_old() {
  const std::size_t before = rotation.all().size();
  std::vector<detail::checkpoint_rotation::listed> stuck;
  while (std::optional<detail::checkpoint_rotation::listed> oldest = rotation.next_to_delete()) {
    try {
      co_await remove_checkpoint(oldest->path);
    } catch (const failure& e) {
      if (e.code() == errc::not_found) continue;
      warn_about(e, "old checkpoint cannot be deleted: ");
      stuck.push_back(std::move(*oldest));
    }
  }
  rotation.put_back(std::move(stuck));
  if (rotation.all().size() == before) co_return;
  try {
    co_await write_state(rotation.state());
  } catch (const failure& e) {
    warn_about(e, "state file still lists deleted checkpoints: ");
  }
}

// The snapshot is taken before the first wait, so all values are of one moment. The order of the
// steps makes a crash after each of them harmless: see docs/crash_consistency.md. The state file
// lists a checkpoint only after it is complete. An old checkpoint is deleted while it is still
// listed, so that no crash leaves one that nothing would ever delete; recover() ignores a listed
// file that is missing.
task<std::string> saver::state::save(std::string path) {
  const detail::exclusive_use::guard guard(in_use);
  if (registry.empty()) co_return std::string();
  detail::checkpoint_snapshot snapshot = detail::take_snapshot(registry, options.copy_values);
  const double now = detail::unix_seconds(sched.wall_time());
  if (before_write) co_await before_write();
  co_await prepare();
  bool has_name = false;
  std::exception_ptr error;
  try {
    co_await detail::write_checkpoint(path, std::move(snapshot), options.durable, has_name);
  } catch (...) {
    error = std::current_exception();
  }
  if (has_name) rotation.add(path, now);  // even after an error, it is deleted later
  if (error) std::rethrow_exception(error);
  co_await write_state(rotation.state());
  co_await delete_old();
  co_return path;
}

// --------------------------------------------------------------------------------- the saver

saver::saver(std::unique_ptr<state> s) noexcept : state_(std::move(s)) {}
saver::saver(saver&&) noexcept = default;
saver::~saver() = default;

saver::state& saver::get_state() const {
  LEAT_ASSERT(state_, "saver used after a move: use the object it was moved to");
  return *state_;
}

task<saver> saver::open(std::string directory, const checkpoint_registry& registry,
                        saver_options options) {
  check_options(directory, registry, options);
  scheduler& sched = this_task::get_scheduler();
  auto s = std::make_unique<state>(std::move(directory), registry, std::move(options), sched);
  if (s->options.recover_last_checkpoints) co_await s->recover();
  co_return saver(std::move(s));
}

task<saver> saver::open(std::string directory, const checkpoint_registry& registry) {
  return open(std::move(directory), registry, saver_options());
}

task<std::string> saver::save(std::uint64_t step) { return get_state().save(path_of(step)); }

task<std::string> saver::save() {
  const saver_options& o = get_state().options;
  if (o.basename == o.latest_filename) {
    throw failure(errc::invalid_argument, "saver: checkpoint '" + o.basename +
                                              "' collides with the state file of that name: pass "
                                              "a step, or set a different basename");
  }
  return get_state().save(get_state().in_directory(o.basename));
}

void saver::set_before_write(std::function<task<void>()> callback) {
  get_state().before_write = std::move(callback);
}

bool saver::restored_partly() const { return get_state().restored_partly; }

task<void> saver::make_durable(std::string path) const {
  const state& s = get_state();
  std::string directory = s.directory;
  std::string listed = s.in_directory(s.options.latest_filename);
  co_await sync_file(std::move(path));
  try {
    co_await sync_file(std::move(listed));
  } catch (const failure& e) {
    if (e.code() != errc::not_found) throw;  // all checkpoints were found by their names
  }
  co_await sync_directory(std::move(directory));
}

task<std::optional<std::string>> saver::restore_latest() { return get_state().restore_latest(); }

task<void> saver::restore(std::string path) {
  const detail::exclusive_use::guard guard(get_state().in_use);
  detail::restore_phase phase = {};
  co_await get_state().restore_one(std::move(path), phase);
}

std::vector<std::string> saver::last_checkpoints() const {
  std::vector<std::string> paths;
  for (const auto& listed : get_state().rotation.all()) paths.push_back(listed.path);
  return paths;
}

const std::string& saver::directory() const noexcept { return get_state().directory; }
const saver_options& saver::options() const noexcept { return get_state().options; }

std::string saver::path_of(std::uint64_t step) const {
  const saver_options& o = get_state().options;
  return get_state().in_directory(detail::checkpoint_name(o.basename, step, o.pad_step_number));
}

}  // namespace LEAT
