#include "leat/train/saver.hpp"

#include <algorithm>
#include <chrono>
#include <exception>
#include <iterator>
#include <set>
#include <string_view>
#include <utility>

#include "core/is_one_of.hpp"
#include "core/sentence_of.hpp"
#include "leat/core/error.hpp"
#include "leat/core/this_task.hpp"
#include "leat/io/detail/one_at_a_time.hpp"
#include "leat/io/file.hpp"
#include "leat/train/checkpoint_directory.hpp"
#include "leat/train/rank_checkpoints.hpp"
#include "train/checkpoint_file.hpp"
#include "train/checkpoint_paths.hpp"
#include "train/rotation.hpp"

namespace leat {
namespace {

constexpr std::size_t padded_digits = 8;

double seconds(wall_time_point t) noexcept {
  return std::chrono::duration<double>(t.time_since_epoch()).count();
}

void check_options(const checkpoint_registry& what, const saver_options& o) {
  const auto refuse = [](const std::string& why) {
    throw failure(errc::invalid_argument, "saver: " + why);
  };
  const auto check_name = [&](std::string_view option, const std::string& name) {
    if (!name.empty() && name.find('/') == std::string::npos) return;
    refuse(std::string(option) + " '" + name +
           "' names files in the directory: it must not be empty or have a '/'");
  };
  if (what.empty() && !o.allow_empty) {
    refuse("No variables to save: add some to the registry, or say allow_empty");
  }
  check_name("basename", o.basename);
  check_name("latest_filename", o.latest_filename);
  if (!o.in_step_with.empty() && o.max_to_keep == 1U) {
    refuse("a rank in step with others keeps 2 checkpoints or more: max_to_keep is 1");
  }
  if (o.keep_every < duration::zero()) refuse("keep_every is negative; 0 keeps none for ever");
}

// A path without the directory.
std::string_view name_in(std::string_view path) noexcept {
  return path.substr(path.rfind('/') + 1);  // npos + 1 is 0
}

// Errors for which the checkpoint before is a way out. What the device cannot read (EIO) has
// data_loss too; other errors of the system, such as a lack of rights or memory, are none of the
// checkpoint's.
bool is_refusal(const std::error_code& code) noexcept {
  return code == errc::failed_precondition || code == errc::data_loss ||
         code == errc::invalid_argument;
}

}  // namespace

struct saver::state {
  state(std::string d, const checkpoint_registry& w, saver_options o, scheduler& s)
      : directory(std::move(d)),
        what(w),
        options(std::move(o)),
        home(s),
        kept(options.max_to_keep, std::chrono::duration<double>(options.keep_every).count(),
             seconds(s.wall_time())) {}

  void warn(const std::string& sentence) const {
    if (options.on_warning) options.on_warning(sentence);
  }
  void tell_refused(const std::string& path, std::exception_ptr error) const {
    if (options.on_refused) options.on_refused(path, std::move(error));
  }

  [[nodiscard]] std::string in_directory(const std::string& name) const {
    return detail::path_in(directory, name);
  }
  // A checkpoint with its step.
  using numbered = std::pair<std::uint64_t, std::string>;
  [[nodiscard]] bool is_checkpoint(std::string_view name, std::uint64_t& step) const;
  [[nodiscard]] bool is_left_over(std::string_view name) const;

  [[nodiscard]] task<std::vector<std::string>> list() const {
    return list_directory(directory.empty() ? "." : directory);
  }
  // What the state file says, and since when it does at least.
  struct listing {
    std::optional<checkpoint_state> state = {};
    std::exception_ptr unreadable = {};
    std::optional<wall_time_point> since = {};
  };
  task<listing> read_state() const;
  task<std::vector<numbered>> checkpoints() const;
  task<std::optional<checkpoint_state>> look_around() const;
  task<std::vector<detail::rotation::listed>> unlisted(const listing& l) const;
  task<checkpoint_state> newest_of_ours() const;
  task<void> adopt();

  task<void> prepare();
  task<void> write_state(checkpoint_state s) const;
  task<void> sweep();
  task<std::string> save(std::string path);

  // What there is to restore, the best first.
  struct candidates {
    std::vector<std::string> paths = {};
    std::exception_ptr unreadable = {};  // the state file
  };
  task<candidates> look_for_candidates() const;
  task<void> restore_one(std::string path) const;
  task<std::exception_ptr> try_to_restore(std::string path, bool& vanished) const;
  task<std::optional<std::string>> restore_latest();
  task<std::optional<std::string>> restore_in_step();
  task<void> take_back(std::optional<std::uint64_t> step);

  const std::string directory;
  const checkpoint_registry& what;
  const saver_options options;
  scheduler& home;
  detail::rotation kept;
  detail::one_at_a_time in_use;
  bool cleaned = false;
};

// ----------------------------------------------------------------------------- what there is

// BASENAME-STEP.
bool saver::state::is_checkpoint(std::string_view name, std::uint64_t& step) const {
  return detail::is_checkpoint_name(name, options.basename, step);
}

// What a program that was killed has left.
bool saver::state::is_left_over(std::string_view name) const {
  const std::string_view whole = detail::without_partial(name);
  std::uint64_t step = 0;
  return whole == options.latest_filename || whole == options.basename ||
         is_checkpoint(whole, step);
}

// A text that is no state is `unreadable`. The time comes first: a file that is written anew
// meanwhile lists what it would have hidden.
task<saver::state::listing> saver::state::read_state() const {
  listing l;
  l.since = co_await detail::checkpoint_time(in_directory(options.latest_filename));
  try {
    l.state = co_await detail::read_checkpoint_state(directory, options.latest_filename);
  } catch (const failure& e) {
    if (e.code() != errc::invalid_argument) throw;
    l.unreadable = std::current_exception();
  }
  co_return l;
}

// All that the directory has, by their steps.
task<std::vector<saver::state::numbered>> saver::state::checkpoints() const {
  std::vector<numbered> found;
  const std::vector<std::string> names = co_await list();
  for (const std::string& name : names) {
    std::uint64_t step = 0;
    if (is_checkpoint(name, step)) found.emplace_back(step, in_directory(name));
  }
  std::sort(found.begin(), found.end());
  co_return found;
}

// What a state file would list that nobody has written.
task<std::optional<checkpoint_state>> saver::state::look_around() const {
  std::vector<numbered> found = co_await checkpoints();
  if (found.empty()) co_return std::nullopt;
  checkpoint_state s;
  for (auto& [step, path] : found) s.all_model_checkpoint_paths.push_back(std::move(path));
  s.model_checkpoint_path = s.all_model_checkpoint_paths.back();
  co_return s;
}

// What a program that was killed had no time to list, oldest first: complete checkpoints of this
// program, behind the one that is listed as the newest. Older than the state file is what somebody
// has taken out of it, and what is kept for ever.
task<std::vector<detail::rotation::listed>> saver::state::unlisted(const listing& l) const {
  std::vector<detail::rotation::listed> found;
  const checkpoint_state& s = *l.state;
  std::uint64_t newest = 0;
  const bool has_step = is_checkpoint(name_in(s.model_checkpoint_path), newest);
  const std::vector<numbered> there = co_await checkpoints();
  for (const auto& [step, path] : there) {
    const auto is_it = [&](const std::string& listed) { return name_in(listed) == name_in(path); };
    if (has_step && step <= newest) continue;
    if (std::ranges::any_of(s.all_model_checkpoint_paths, is_it)) continue;
    const std::optional<wall_time_point> written = co_await detail::checkpoint_time(path);
    if (!written || !l.since || *written < *l.since) continue;
    const bool is_ours = co_await detail::is_checkpoint_of(path, what);
    if (is_ours) found.push_back({path, seconds(*written)});
  }
  co_return found;
}

// What there is to go on with where no list says which are to be deleted: as many as may be kept,
// and only of this program. What else there is may be another's, or kept for ever.
task<checkpoint_state> saver::state::newest_of_ours() const {
  checkpoint_state s;
  const std::vector<numbered> there = co_await checkpoints();
  std::vector<std::string>& ours = s.all_model_checkpoint_paths;
  for (auto each = there.rbegin(); each != there.rend(); ++each) {
    if (options.max_to_keep && ours.size() >= *options.max_to_keep) break;
    const bool is_ours = co_await detail::is_checkpoint_of(each->second, what);
    if (is_ours) ours.push_back(each->second);
  }
  std::ranges::reverse(ours);
  if (!ours.empty()) s.model_checkpoint_path = ours.back();
  co_return s;
}

task<void> saver::state::adopt() {
  listing l = co_await read_state();
  std::optional<checkpoint_state>& s = l.state;
  std::vector<detail::rotation::listed> newer;
  if (s) newer = co_await unlisted(l);
  if (l.unreadable) {
    warn(in_directory(options.latest_filename) +
         ": the state file cannot be read; the saver goes on with the newest checkpoints of this "
         "program that it finds, and never deletes the others");
    s = co_await newest_of_ours();
  }
  if (!s) co_return;
  std::vector<std::optional<double>> modified;
  for (const std::string& path : s->all_model_checkpoint_paths) {
    const std::optional<wall_time_point> written = co_await detail::checkpoint_time(path);
    modified.push_back(written ? std::optional(seconds(*written)) : std::nullopt);
  }
  const double now = seconds(home.wall_time());
  if (kept.adopt(*s, modified, now)) {
    warn(directory +
         ": the clock was set back since the last checkpoint; those from before are "
         "never deleted");
  }
  for (auto& [path, time] : newer) kept.add(std::move(path), std::min(time, now));
}

// ------------------------------------------------------------------------------------ saving

// The directory is there; what a dead program has left half written is not.
task<void> saver::state::prepare() {
  try {
    co_await make_directories(directory);
  } catch (const failure& e) {
    if (e.code() == errc::failed_precondition || e.code() == errc::not_found) {
      throw failure(errc::invalid_argument,
                    "Parent directory of " + in_directory(options.basename) +
                        " doesn't exist, can't save: " + detail::sentence_of(e));
    }
    throw;
  }
  if (cleaned) co_return;
  const std::vector<std::string> names = co_await list();
  for (const std::string& name : names) {
    if (!is_left_over(name)) continue;
    try {
      co_await remove_file(in_directory(name));
    } catch (const failure& e) {
      if (e.code() == errc::cancelled) throw;
      warn(std::string("what is left of a dead program cannot be removed: ") + e.what());
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

// Deletes all that are over the limit. The newest is safe: from here on nothing is a failure.
task<void> saver::state::sweep() {
  const std::size_t before = kept.all().size();
  std::vector<detail::rotation::listed> stuck;
  while (std::optional<detail::rotation::listed> oldest = kept.next_to_delete()) {
    try {
      co_await remove_checkpoint(oldest->path);
    } catch (const failure& e) {
      if (e.code() == errc::not_found) continue;
      warn(std::string("an old checkpoint cannot be deleted: ") + e.what());
      stuck.push_back(std::move(*oldest));
    }
  }
  kept.put_back(std::move(stuck));
  if (kept.all().size() == before) co_return;
  try {
    co_await write_state(kept.state());
  } catch (const failure& e) {
    warn(std::string("the state file still lists checkpoints that were deleted: ") + e.what());
  }
}

task<std::string> saver::state::save(std::string path) {
  const detail::one_at_a_time::use use(in_use);
  if (what.empty()) co_return std::string();
  detail::checkpoint_snapshot snapshot = detail::take_snapshot(what, options.copy_values);
  const double now = seconds(home.wall_time());
  co_await prepare();
  bool has_name = false;
  std::exception_ptr error;
  try {
    co_await detail::write_checkpoint(path, std::move(snapshot), options.durable, has_name);
  } catch (...) {
    error = std::current_exception();
  }
  if (has_name) kept.add(path, now);  // whatever fails from here on, it will be deleted in its turn
  if (error) std::rethrow_exception(error);
  co_await write_state(kept.state());
  co_await sweep();
  co_return path;
}

// --------------------------------------------------------------------------------- restoring

task<void> saver::state::restore_one(std::string path) const {
  if (path.empty()) {
    throw failure(errc::invalid_argument, "saver: there is no path: name a checkpoint to restore");
  }
  if (what.empty()) co_return;
  const bool there = co_await checkpoint_exists(path);
  if (!there) {
    throw failure(errc::invalid_argument,
                  "The passed save_path is not a valid checkpoint: " + path);
  }
  co_await detail::read_checkpoint(std::move(path), what, options.extra);
}

task<saver::state::candidates> saver::state::look_for_candidates() const {
  candidates c;
  listing l = co_await read_state();
  c.unreadable = l.unreadable;
  std::optional<checkpoint_state>& s = l.state;
  if (s) {
    const std::vector<detail::rotation::listed> newer = co_await unlisted(l);
    for (const auto& each : newer) c.paths.insert(c.paths.begin(), each.path);
  } else if (c.unreadable && !options.strict) {
    s = co_await look_around();
  }
  if (s) std::ranges::copy(restore_order(*s), std::back_inserter(c.paths));
  co_return c;
}

// Null: restored. What is no reason to take another one is thrown.
task<std::exception_ptr> saver::state::try_to_restore(std::string path, bool& vanished) const {
  std::exception_ptr error;
  try {
    co_await restore_one(path);
  } catch (const failure& e) {
    if (e.code() != errc::not_found && !is_refusal(e.code())) throw;
    error = std::current_exception();
  }
  if (!error) co_return error;
  bool there = true;
  try {
    there = co_await checkpoint_exists(std::move(path));
  } catch (const failure& e) {
    if (!is_refusal(e.code())) throw;
  }
  vanished = !there;
  if (there && detail::is_one_of(error, {errc::not_found})) std::rethrow_exception(error);
  co_return error;
}

// Another may save meanwhile, and delete what was listed a moment ago: then it has listed others,
// and these are tried.
task<std::optional<std::string>> saver::state::restore_latest() {
  const detail::one_at_a_time::use use(in_use);
  if (what.empty()) co_return std::nullopt;
  if (!options.in_step_with.empty()) co_return co_await restore_in_step();
  std::set<std::string> told;
  const auto refuse = [&](const std::string& path, const std::exception_ptr& why) {
    if (options.strict) std::rethrow_exception(why);
    if (told.insert(path).second) tell_refused(path, why);
  };
  candidates now = co_await look_for_candidates();
  std::exception_ptr first;
  for (bool again = true; again;) {
    again = false;
    first = nullptr;
    if (now.unreadable) refuse(in_directory(options.latest_filename), now.unreadable);
    if (now.paths.empty()) first = now.unreadable;  // it is all there is to complain about
    for (const std::string& path : now.paths) {
      bool vanished = false;
      const std::exception_ptr error = co_await try_to_restore(path, vanished);
      if (!error) co_return path;
      candidates later;
      if (vanished) later = co_await look_for_candidates();
      again = vanished && later.paths != now.paths;
      if (again) {
        now = std::move(later);
        break;
      }
      refuse(path, error);
      if (!first) first = error;
    }
  }
  if (first) std::rethrow_exception(first);
  co_return std::nullopt;
}

// What was saved behind the common step is of steps that are done again. It goes before anybody can
// take a new step, so that old and new are never taken together.
task<void> saver::state::take_back(std::optional<std::uint64_t> step) {
  const std::vector<numbered> there = co_await checkpoints();
  for (const auto& [number, path] : there) {
    if (step && number <= *step) continue;
    co_await remove_checkpoint(path);
    kept.forget(path);
  }
}

task<std::optional<std::string>> saver::state::restore_in_step() {
  rank_checkpoint_options o;
  o.basename = options.basename;
  o.on_refused = options.on_refused;
  std::vector<std::string> directories = options.in_step_with;
  std::erase(directories, directory);
  directories.push_back(directory);
  const auto found = co_await find_rank_checkpoints(std::move(directories), std::move(o));
  if (found) co_await restore_one(found->paths.back());
  std::optional<std::uint64_t> step;
  if (found) step = found->step;
  co_await take_back(step);
  if (!found) co_return std::nullopt;
  co_return found->paths.back();
}

// --------------------------------------------------------------------------------- the saver

saver::saver(std::unique_ptr<state> s) noexcept : state_(std::move(s)) {}
saver::saver(saver&&) noexcept = default;
saver::~saver() = default;

task<saver> saver::open(std::string directory, const checkpoint_registry& what,
                        saver_options options) {
  check_options(what, options);
  scheduler& home = co_await this_task::get_scheduler();
  auto s = std::make_unique<state>(std::move(directory), what, std::move(options), home);
  if (s->options.adopt_listed) co_await s->adopt();
  co_return saver(std::move(s));
}

task<saver> saver::open(std::string directory, const checkpoint_registry& what) {
  return open(std::move(directory), what, saver_options());
}

task<std::string> saver::save(std::uint64_t step) { return state_->save(path_of(step)); }

task<std::string> saver::save() {
  const saver_options& o = state_->options;
  if (o.basename == o.latest_filename) {
    throw failure(errc::invalid_argument, "saver: the checkpoint '" + o.basename +
                                              "' collides with the state file of that name: give "
                                              "a step, or another basename");
  }
  return state_->save(state_->in_directory(o.basename));
}

task<std::optional<std::string>> saver::restore_latest() { return state_->restore_latest(); }

task<void> saver::restore(std::string path) {
  const detail::one_at_a_time::use use(state_->in_use);
  co_await state_->restore_one(std::move(path));
}

std::vector<std::string> saver::last_checkpoints() const {
  std::vector<std::string> paths;
  for (const auto& listed : state_->kept.all()) paths.push_back(listed.path);
  return paths;
}

const std::string& saver::directory() const noexcept { return state_->directory; }
const saver_options& saver::options() const noexcept { return state_->options; }

std::string saver::path_of(std::uint64_t step) const {
  std::string digits = std::to_string(step);
  if (state_->options.pad_step_number && digits.size() < padded_digits) {
    digits.insert(0, padded_digits - digits.size(), '0');
  }
  return state_->in_directory(state_->options.basename + "-" + digits);
}

}  // namespace leat
