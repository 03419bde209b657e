// How a saver restores.

#include <algorithm>
#include <exception>
#include <iterator>
#include <set>
#include <utility>

#include "base/error_text.hpp"
#include "leat/base/error.hpp"
#include "leat/train/checkpoint/checkpoint_directory.hpp"
#include "train/checkpoint/checkpoint_file.hpp"
#include "train/checkpoint/rank_listing.hpp"
#include "train/checkpoint/saver_state.hpp"

namespace leat {
namespace {

// More than that, and somebody goes on saving.
constexpr int most_rounds = 10;

// Errors for which the checkpoint before is a way out. What the device cannot read (EIO) has
// data_loss too; other errors of the system, such as a lack of rights or memory, are none of the
// checkpoint's.
bool is_refusal(const std::error_code& code) noexcept {
  return code == errc::failed_precondition || code == errc::data_loss ||
         code == errc::invalid_argument;
}

// To take the one before would be to do again, without a word, what came since; and sometimes all.
[[noreturn]] void refuse_to_go_back(const std::exception_ptr& why) {
  try {
    std::rethrow_exception(why);
  } catch (const failure& e) {
    throw failure(e.code(), detail::without_code_message(e) +
                                "; the checkpoint is whole, so none before it is taken: put this "
                                "right, leave the entry out by saver_options::left_out, or go back "
                                "by saver_options::pass_over_whole");
  }
}

// Nothing is lost if the program starts from its initial values: there is no checkpoint.
[[noreturn]] void refuse_without_checkpoints(const std::exception_ptr& why,
                                             const std::string& directory) {
  try {
    std::rethrow_exception(why);
  } catch (const failure& e) {
    throw failure(e.code(), detail::without_code_message(e) + "; '" + directory +
                                "' contains no checkpoint: put one there, or remove the state "
                                "file to start from the initial values");
  }
}

}  // namespace

task<void> saver::state::restore_one(std::string path, detail::reading& at) {
  if (path.empty()) {
    throw failure(errc::invalid_argument, "saver: there is no path: name a checkpoint to restore");
  }
  if (what.empty()) co_return;
  const bool there = co_await checkpoint_exists(path);
  if (!there) {
    throw failure(errc::invalid_argument,
                  "The passed save_path is not a valid checkpoint: " + path);
  }
  const std::vector<std::string> not_restored =
      co_await detail::read_checkpoint(path, what, options, at);
  restored_partly = !not_restored.empty();
  if (!restored_partly) co_return;
  std::string names;
  for (const std::string& name : not_restored) names += (names.empty() ? "'" : ", '") + name + "'";
  warn(path + ": restored without " + names +
       ", as saver_options permit: each keeps the value that it had");
}

task<saver::state::candidates> saver::state::look_for_candidates() const {
  candidates c;
  listing l = co_await read_state();
  c.unreadable = l.unreadable;
  std::optional<checkpoint_state>& s = l.state;
  if (s) {
    const std::vector<detail::rotation::listed> newer = co_await unlisted(l, true);
    for (const auto& each : newer) c.paths.insert(c.paths.begin(), each.path);
  } else if (c.unreadable && !options.strict) {
    s = co_await look_around();
  }
  if (s) std::ranges::copy(restore_order(*s), std::back_inserter(c.paths));
  co_return c;
}

// What is no reason to take another one is thrown.
task<saver::state::attempt> saver::state::try_to_restore(std::string path) {
  attempt a;
  detail::reading at = {};
  std::error_code code;
  try {
    co_await restore_one(path, at);
  } catch (const failure& e) {
    code = e.code();
    if (code != errc::not_found && !is_refusal(code)) throw;
    a.error = std::current_exception();
  }
  if (!a.error) co_return a;
  bool there = true;
  try {
    there = co_await checkpoint_exists(std::move(path));
  } catch (const failure& e) {
    if (!is_refusal(e.code())) throw;
  }
  a.vanished = !there;
  if (there && code == errc::not_found) std::rethrow_exception(a.error);
  // All its bytes are in order by then: an object that complains of more than these has another
  // reason, such as its input.
  a.cannot_go_on = at == detail::reading::objects && code != errc::invalid_argument;
  a.is_anothers = at != detail::reading::table && code != errc::data_loss && !a.cannot_go_on;
  co_return a;
}

// Another may save meanwhile, and delete what was listed a moment ago: then it has listed others,
// and these are tried.
task<std::optional<std::string>> saver::state::restore_latest() {
  const detail::exclusive_use::guard guard(in_use);
  if (what.empty()) co_return std::nullopt;
  if (!options.in_step_with.empty()) co_return co_await restore_in_step();
  std::set<std::string> told;
  const auto refuse = [&](const std::string& path, const std::exception_ptr& why) {
    if (options.strict) std::rethrow_exception(why);
    if (told.insert(path).second) tell_refused(path, why);
  };
  candidates now = co_await look_for_candidates();
  std::exception_ptr first;
  std::vector<std::string> of_others;
  for (bool again = true; again;) {
    again = false;
    first = nullptr;
    of_others.clear();
    if (now.unreadable) refuse(in_directory(options.latest_filename), now.unreadable);
    if (now.unreadable && now.paths.empty()) refuse_without_checkpoints(now.unreadable, directory);
    for (const std::string& path : now.paths) {
      const attempt a = co_await try_to_restore(path);
      if (!a.error) {
        for (const std::string& other : of_others) kept.forget(other);
        co_return path;
      }
      candidates later;
      if (a.vanished) later = co_await look_for_candidates();
      again = a.vanished && later.paths != now.paths;
      if (again) {
        now = std::move(later);
        break;
      }
      const bool may_go_back = !a.cannot_go_on || a.vanished || options.pass_over_whole;
      if (!may_go_back && !options.strict) refuse_to_go_back(a.error);
      refuse(path, a.error);
      if (a.is_anothers) of_others.push_back(path);
      if (!first) first = a.error;
    }
  }
  if (first) std::rethrow_exception(first);
  co_return std::nullopt;
}

// What was saved behind the common step is of steps that are done again. It goes, and for good,
// before anybody can take a new step, so that old and new are never taken together.
task<void> saver::state::take_back(const std::optional<rank_checkpoints>& to) {
  bool deleted = false;
  const std::vector<numbered> all = co_await checkpoints();
  for (const auto& [step, path] : all) {
    if (to && step <= to->step) continue;
    const bool is_one = co_await checkpoint_exists(path);
    if (!is_one) continue;  // a directory of this name
    if (!to) warn(path + ": deleted, since the job begins anew: not all ranks have saved");
    co_await remove_checkpoint(path);
    kept.forget(path);
    deleted = true;
  }
  if (to) {
    co_await list_common(to->paths.back(), deleted);
  } else {
    co_await remove_stale_list();
  }
  if (options.durable) co_await sync_directory(directory);
}

// Nobody is to look for what was deleted.
task<void> saver::state::remove_stale_list() const {
  const listing l = co_await read_state();
  if (!l.state) co_return;
  const bool is_there = co_await checkpoint_exists(l.state->model_checkpoint_path);
  if (!is_there) co_await remove_file(in_directory(options.latest_filename));
}

// The state file names what was deleted no more.
task<void> saver::state::list_common(const std::string& path, bool deleted) {
  const std::optional<wall_time_point> written = co_await detail::checkpoint_time(path);
  if (!written) co_return;
  kept.go_back_to(path, detail::unix_seconds(*written));
  const listing l = co_await read_state();
  const bool is_listed =
      l.state && detail::name_in(l.state->model_checkpoint_path) == detail::name_in(path);
  if (deleted || !is_listed) co_await write_state(kept.state());
}

task<std::optional<std::string>> saver::state::restore_in_step() {
  rank_checkpoint_options o;
  o.basename = options.basename;
  o.pad_step_number = options.pad_step_number;
  o.strict = options.strict;
  o.on_refused = options.on_refused;
  std::vector<std::string> directories = options.in_step_with;
  std::erase(directories, directory);
  directories.push_back(directory);
  for (int round = 0; round < most_rounds; ++round) {
    const detail::listed_ranks found = co_await detail::find_in_ranks(directories, o);
    std::optional<std::string> path;
    if (found.common) path = found.common->paths.back();
    detail::reading at = {};
    if (path) co_await restore_one(*path, at);
    const bool unchanged = co_await detail::are_unchanged(found, o);
    if (!unchanged) continue;
    if (found.ranks.back().exists) co_await take_back(found.common);
    co_return path;
  }
  throw failure(errc::failed_precondition,
                directory +
                    ": other ranks save while this one is restored: end all processes of "
                    "the job before any is started again");
}

}  // namespace leat
