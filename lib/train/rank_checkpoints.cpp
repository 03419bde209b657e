#include "leat/train/rank_checkpoints.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "leat/core/error.hpp"
#include "leat/io/file.hpp"
#include "train/checkpoint_file.hpp"
#include "train/checkpoint_paths.hpp"

namespace leat {
namespace {

// The checkpoints of a directory, by their steps.
using steps_of_rank = std::map<std::uint64_t, std::string>;

task<steps_of_rank> find_steps(std::string directory, std::string basename) {
  steps_of_rank found;
  const std::string where = directory.empty() ? "." : directory;
  std::vector<std::string> names;
  try {
    names = co_await list_directory(where);
  } catch (const failure& e) {
    if (e.code() != errc::not_found) throw;
  }
  for (const std::string& name : names) {
    std::uint64_t step = 0;
    if (!detail::is_checkpoint_name(name, basename, step)) continue;
    found.emplace(step, detail::path_in(directory, name));
  }
  co_return found;
}

// "DIRECTORY has 40, 50".
std::string list_of_steps(const std::string& directory, const steps_of_rank& has) {
  std::string text;
  for (const auto& [step, path] : has) text += (text.empty() ? "" : ", ") + std::to_string(step);
  return directory + " has " + (text.empty() ? "none" : text);
}

// What each has of a step; fewer where somebody has none.
std::vector<std::string> paths_of_step(const std::vector<steps_of_rank>& ranks,
                                       std::uint64_t step) {
  std::vector<std::string> paths;
  for (const steps_of_rank& has : ranks) {
    const auto found = has.find(step);
    if (found != has.end()) paths.push_back(found->second);
  }
  return paths;
}

// Null: it is whole. One that is damaged is so for all; an error of the system need not be, and
// leaves.
task<std::exception_ptr> what_is_wrong(std::string path) {
  std::exception_ptr error;
  try {
    co_await detail::check_whole(std::move(path));
  } catch (const failure& e) {
    const bool damaged = e.code() == errc::data_loss || e.code() == errc::invalid_argument;
    if (!damaged || e.code() == std::errc::io_error) throw;
    error = std::current_exception();
  }
  co_return error;
}

}  // namespace

task<std::optional<rank_checkpoints>> find_rank_checkpoints(std::vector<std::string> directories,
                                                            rank_checkpoint_options options) {
  std::vector<steps_of_rank> ranks;
  std::map<std::uint64_t, std::string> all;  // with one of those who have it
  std::string there;
  for (const std::string& directory : directories) {
    steps_of_rank has = co_await find_steps(directory, options.basename);
    all.insert(has.begin(), has.end());
    there += (there.empty() ? "" : "; ") + list_of_steps(directory, has);
    ranks.push_back(std::move(has));
  }
  const auto refuse = [&](const std::string& path, std::exception_ptr why) {
    if (options.on_refused) options.on_refused(path, std::move(why));
  };
  for (auto each = all.rbegin(); each != all.rend(); ++each) {
    const auto& [step, path] = *each;
    rank_checkpoints found;
    found.step = step;
    found.paths = paths_of_step(ranks, step);
    if (found.paths.size() < directories.size()) {
      refuse(path, std::make_exception_ptr(failure(errc::failed_precondition,
                                                   path + ": not all ranks have saved this step")));
      continue;
    }
    bool whole = true;
    for (const std::string& one : found.paths) {
      const std::exception_ptr error = co_await what_is_wrong(one);
      if (error) refuse(one, error);
      whole = whole && !error;
    }
    if (whole) co_return found;
  }
  const bool begun = std::ranges::all_of(ranks, [](const auto& has) { return has.size() <= 1; }) &&
                     std::ranges::any_of(ranks, [](const auto& has) { return has.empty(); });
  if (begun || directories.empty()) co_return std::nullopt;
  throw failure(errc::failed_precondition,
                "train: there is no step of which all ranks have a checkpoint that is whole: " +
                    there + "; ranks have to save at the same steps");
}

task<std::optional<rank_checkpoints>> find_rank_checkpoints(std::vector<std::string> directories) {
  return find_rank_checkpoints(std::move(directories), rank_checkpoint_options());
}

task<std::string> read_saved_object(std::string path, std::string name) {
  return detail::read_object(std::move(path), std::move(name));
}

}  // namespace leat
