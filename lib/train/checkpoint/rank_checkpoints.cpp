#include "leat/train/checkpoint/rank_checkpoints.hpp"

#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <utility>

#include "leat/base/error.hpp"
#include "leat/io/file/file.hpp"
#include "train/checkpoint/checkpoint_file.hpp"
#include "train/checkpoint/checkpoint_paths.hpp"
#include "train/checkpoint/rank_listing.hpp"

namespace LEAT {
namespace {

using detail::rank_listing;

// Of two names of one step, with and without zeros, chooses the one that a saver would use;
// otherwise the newer file.
task<rank_listing> list_rank(std::string directory, const rank_checkpoint_options& options) {
  rank_listing found;
  found.directory = directory;
  const std::string where = directory.empty() ? "." : directory;
  std::vector<std::string> names;
  try {
    names = co_await list_directory(where);
    found.exists = true;
  } catch (const failure& e) {
    if (e.code() != errc::not_found) throw;
  }
  std::map<std::uint64_t, std::pair<bool, wall_time_point>> best;
  for (const std::string& name : names) {
    std::uint64_t step = 0;
    if (!detail::is_checkpoint_name(name, options.basename, step)) continue;
    std::string path = detail::path_in(directory, name);
    const std::optional<wall_time_point> written = co_await detail::checkpoint_time(path);
    if (!written) continue;  // a directory of this name, or deleted meanwhile
    const std::pair this_one(
        name == detail::checkpoint_name(options.basename, step, options.pad_step_number), *written);
    const auto [other, is_first] = best.try_emplace(step, this_one);
    if (!is_first && other->second > this_one) continue;
    other->second = this_one;
    found.paths[step] = std::move(path);
  }
  co_return found;
}

task<std::vector<rank_listing>> list_ranks(const std::vector<std::string>& directories,
                                           const rank_checkpoint_options& options) {
  std::vector<rank_listing> ranks;
  for (const std::string& directory : directories) {
    rank_listing one = co_await list_rank(directory, options);
    ranks.push_back(std::move(one));
  }
  co_return ranks;
}

// "DIRECTORY has 40, 50; DIRECTORY has no checkpoint".
std::string format_steps(const std::vector<rank_listing>& ranks) {
  std::string text;
  for (const rank_listing& rank : ranks) {
    std::string steps;
    for (const auto& [step, path] : rank.paths) {
      steps += (steps.empty() ? "" : ", ") + std::to_string(step);
    }
    text += (text.empty() ? "" : "; ") + rank.directory + " has " +
            (steps.empty() ? "no checkpoint" : steps);
  }
  return text;
}

// Returns the paths of a step; fewer if a rank does not have it.
std::vector<std::string> find_paths(const std::vector<rank_listing>& ranks, std::uint64_t step) {
  std::vector<std::string> paths;
  for (const rank_listing& has : ranks) {
    const auto found = has.paths.find(step);
    if (found != has.paths.end()) paths.push_back(found->second);
  }
  return paths;
}

// Returns null if it is intact. A corrupt checkpoint is corrupt for all ranks; a system error may
// affect only this one and is thrown.
task<std::exception_ptr> find_problem(std::string path) {
  std::exception_ptr error;
  try {
    co_await detail::verify_checkpoint(std::move(path));
  } catch (const failure& e) {
    const bool is_corrupt = e.code() == errc::data_loss || e.code() == errc::invalid_argument;
    if (!is_corrupt || e.code() == std::errc::io_error) throw;
    error = std::current_exception();
  }
  co_return error;
}

using skip_function = std::function<void(const std::string&, const std::exception_ptr&)>;

task<std::optional<rank_checkpoints>> find_newest_common(const std::vector<rank_listing>& ranks,
                                                         bool strict, const skip_function& skip) {
  std::map<std::uint64_t, std::string> all;  // with the path on one of the ranks
  for (const rank_listing& has : ranks) all.insert(has.paths.begin(), has.paths.end());
  if (all.empty()) co_return std::nullopt;
  const auto missing = std::ranges::find(ranks, false, &rank_listing::exists);
  if (missing != ranks.end()) {
    throw failure(
        errc::failed_precondition,
        "train: directory '" + missing->directory +
            "' of a rank does not exist, but other ranks have saved (" + format_steps(ranks) +
            "): correct the path, or create an empty directory if this rank has never saved");
  }
  for (auto each = all.rbegin(); each != all.rend(); ++each) {
    const auto& [step, path] = *each;
    rank_checkpoints found;
    found.step = step;
    found.paths = find_paths(ranks, step);
    if (found.paths.size() < ranks.size()) {
      skip(path, std::make_exception_ptr(failure(errc::failed_precondition,
                                                 path + ": not all ranks have saved this step")));
      continue;
    }
    bool whole = true;
    for (const std::string& one : found.paths) {
      const std::exception_ptr error = co_await find_problem(one);
      if (error && strict) std::rethrow_exception(error);
      if (error) skip(one, error);
      whole = whole && !error;
    }
    if (whole) co_return found;
  }
  // No rank has more than one checkpoint, and some have none: the job was killed during its first
  // save.
  const bool begun =
      std::ranges::all_of(ranks, [](const auto& has) { return has.paths.size() <= 1; }) &&
      std::ranges::any_of(ranks, [](const auto& has) { return has.paths.empty(); });
  if (begun) co_return std::nullopt;
  throw failure(errc::failed_precondition,
                "train: no step with an intact checkpoint of every rank (" + format_steps(ranks) +
                    "): save at the same steps on all ranks");
}

}  // namespace

// Another rank may delete listed files meanwhile: then fewer are found.
task<detail::rank_listings> detail::find_common_checkpoints(std::vector<std::string> directories,
                                                            rank_checkpoint_options options) {
  std::set<std::string> reported;
  const skip_function skip = [&](const std::string& path, const std::exception_ptr& why) {
    if (options.on_skipped && reported.insert(path).second) {
      std::as_const(options).on_skipped(path, why);
    }
  };
  rank_listings found;
  found.ranks = co_await list_ranks(directories, options);
  for (;;) {
    std::exception_ptr gone;
    try {
      found.common = co_await find_newest_common(found.ranks, options.strict, skip);
    } catch (const failure& e) {
      if (e.code() != errc::not_found) throw;
      gone = std::current_exception();
    }
    if (!gone) co_return found;
    std::vector<rank_listing> now = co_await list_ranks(directories, options);
    if (now == found.ranks) std::rethrow_exception(gone);
    found.ranks = std::move(now);
  }
}

task<bool> detail::are_unchanged(const rank_listings& before, rank_checkpoint_options options) {
  for (const rank_listing& listed : before.ranks) {
    const rank_listing current = co_await list_rank(listed.directory, options);
    for (const auto& [step, path] : current.paths) {
      if (!listed.paths.contains(step)) co_return false;
    }
    if (before.common && !current.paths.contains(before.common->step)) co_return false;
  }
  co_return true;
}

task<std::optional<rank_checkpoints>> find_rank_checkpoints(option_list<std::string> directories,
                                                            rank_checkpoint_options options) {
  detail::rank_listings found =
      co_await detail::find_common_checkpoints(std::move(directories), std::move(options));
  co_return std::move(found.common);
}

task<std::optional<rank_checkpoints>> find_rank_checkpoints(option_list<std::string> directories) {
  return find_rank_checkpoints(std::move(directories), rank_checkpoint_options());
}

task<std::string> read_saved_object(std::string path, std::string name) {
  return detail::read_object(std::move(path), std::move(name));
}

}  // namespace LEAT
