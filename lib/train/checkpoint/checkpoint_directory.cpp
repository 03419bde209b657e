#include "leat/train/checkpoint/checkpoint_directory.hpp"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <filesystem>
#include <utility>

#include "base/internal/error_text.hpp"
#include "leat/base/bytes.hpp"
#include "leat/base/error.hpp"
#include "leat/io/file/file.hpp"
#include "leat/io/file/internal/atomic_file.hpp"
#include "train/checkpoint/checkpoint_paths.hpp"

namespace LEAT {
namespace {

// A larger file is not a list of checkpoints.
constexpr std::uint64_t max_state_size = std::uint64_t{16} << 20;

constexpr std::size_t padded_digits = 8;

bool is_absolute(const std::string& path) noexcept { return path.starts_with('/'); }

// A path as it is stored: relative to the directory, if the directory can be prepended again.
std::string stored_path(const std::string& directory, const std::string& path, bool relative) {
  if (is_absolute(path) && !relative) return path;
  if (is_absolute(path) != is_absolute(directory)) return path;
  const auto from = std::filesystem::path(path).lexically_normal();
  const auto to = std::filesystem::path(directory.empty() ? "." : directory).lexically_normal();
  std::string shorter = from.lexically_relative(to).string();
  // A path elsewhere does not move with the directory.
  return is_absolute(path) && shorter.starts_with("..") ? path : shorter;
}

void check_file_name(const std::string& name) {
  if (!name.empty() && name.find('/') == std::string::npos) return;
  throw failure(errc::invalid_argument,
                "latest_filename '" + name +
                    "' is not the name of a file: it must not be empty or contain "
                    "a '/'");
}

task<std::string> read_text(file& f) {
  if (f.status().size > max_state_size) {
    throw failure(errc::invalid_argument,
                  "file is too large for a state file: it has " + std::to_string(f.status().size) +
                      " bytes, the limit is " + std::to_string(max_state_size));
  }
  std::string text(static_cast<std::size_t>(f.status().size), '\0');
  const std::size_t got = co_await f.read_at(0, std::as_writable_bytes(std::span(text)));
  text.resize(got);
  co_return text;
}

}  // namespace

std::string detail::path_in(const std::string& directory, const std::string& name) {
  if (directory.empty() || is_absolute(name)) return name;
  return directory.ends_with('/') ? directory + name : directory + "/" + name;
}

bool detail::is_checkpoint_name(std::string_view name, std::string_view basename,
                                std::uint64_t& step) {
  const std::string prefix = std::string(basename) + "-";
  if (!name.starts_with(prefix)) return false;
  const std::string_view digits = name.substr(prefix.size());
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), step);
  return error == std::errc() && end == digits.data() + digits.size();
}

std::string detail::checkpoint_name(std::string_view basename, std::uint64_t step, bool padded) {
  std::string digits = std::to_string(step);
  if (padded && digits.size() < padded_digits) {
    digits.insert(0, padded_digits - digits.size(), '0');
  }
  return std::string(basename) + "-" + digits;
}

std::string_view detail::strip_partial_suffix(std::string_view name) noexcept {
  constexpr std::string_view mark = ".partial";
  const std::size_t at = name.rfind(mark);
  if (at == std::string_view::npos) return {};
  const std::string_view digits = name.substr(at + mark.size());
  const bool is_number = digits.find_first_not_of("0123456789") == std::string_view::npos;
  return is_number ? name.substr(0, at) : std::string_view();
}

task<std::optional<checkpoint_state>> detail::read_checkpoint_state(std::string directory,
                                                                    std::string latest_filename) {
  check_file_name(latest_filename);
  const std::string path = path_in(directory, latest_filename);
  file f;
  try {
    f = co_await file::open(path);
  } catch (const failure& e) {
    if (e.code() != errc::not_found) throw;
  }
  if (!f.is_open()) co_return std::nullopt;
  const std::string text = co_await read_text(f);
  checkpoint_state state;
  try {
    state = checkpoint_state::from_text(text);
  } catch (const failure& e) {
    throw unreadable_state(e.code(), path + ": " + without_code_message(e));
  }
  if (state.model_checkpoint_path.empty()) {
    throw failure(
        errc::invalid_argument,
        "Invalid checkpoint state loaded from " + path +
            ": no model_checkpoint_path, add a line that names a checkpoint of the directory: "
            "model_checkpoint_path: \"NAME\"");
  }
  state.model_checkpoint_path = path_in(directory, state.model_checkpoint_path);
  for (std::string& p : state.all_model_checkpoint_paths) p = path_in(directory, p);
  co_return state;
}

task<std::optional<checkpoint_state>> get_checkpoint_state(
    std::string directory, std::string latest_filename,
    option_function<void(const std::string&)> on_warning) {
  std::optional<checkpoint_state> state;
  try {
    state =
        co_await detail::read_checkpoint_state(std::move(directory), std::move(latest_filename));
  } catch (const detail::unreadable_state& e) {
    if (on_warning) std::as_const(on_warning)(e.what());
  }
  co_return state;
}

task<void> update_checkpoint_state(std::string directory, checkpoint_state state,
                                   checkpoint_state_options options) {
  check_file_name(options.latest_filename);
  std::string path = detail::path_in(directory, options.latest_filename);
  if (path == state.model_checkpoint_path) {
    throw failure(
        errc::invalid_argument,
        path + ": checkpoint and state file have the same name: use a different latest_filename");
  }
  auto& all = state.all_model_checkpoint_paths;
  if (all.empty() || all.back() != state.model_checkpoint_path) {
    all.push_back(state.model_checkpoint_path);
  }
  const std::size_t times = state.all_model_checkpoint_timestamps.size();
  if (times > 0 && times != all.size()) {
    throw failure(errc::invalid_argument,
                  path + ": " + std::to_string(times) + " timestamps for " +
                      std::to_string(all.size()) +
                      " checkpoints: pass one for each checkpoint, or leave the list empty");
  }
  const bool relative = options.save_relative_paths;
  state.model_checkpoint_path = stored_path(directory, state.model_checkpoint_path, relative);
  for (std::string& p : all) p = stored_path(directory, p, relative);
  const std::string text = state.to_text();
  co_await detail::write_new_file(std::move(path), as_bytes(text), options.durable);
}

task<void> update_checkpoint_state(std::string directory, checkpoint_state state) {
  return update_checkpoint_state(std::move(directory), std::move(state),
                                 checkpoint_state_options());
}

std::vector<std::string> restore_order(const checkpoint_state& state) {
  const auto& all = state.all_model_checkpoint_paths;
  std::vector<std::string> order(1, state.model_checkpoint_path);
  // If an older checkpoint was chosen, newer ones are not wanted.
  const auto chosen = std::find(all.rbegin(), all.rend(), state.model_checkpoint_path);
  const auto first = chosen == all.rend() ? all.rbegin() : chosen + 1;
  std::copy_if(first, all.rend(), std::back_inserter(order),
               [&](const std::string& p) { return p != state.model_checkpoint_path; });
  return order;
}

task<std::optional<std::string>> latest_checkpoint(std::string directory,
                                                   std::string latest_filename) {
  const std::optional<checkpoint_state> state =
      co_await get_checkpoint_state(std::move(directory), std::move(latest_filename));
  if (!state) co_return std::nullopt;
  for (const std::string& path : restore_order(*state)) {
    const bool there = co_await checkpoint_exists(path);
    if (there) co_return path;
  }
  co_return std::nullopt;
}

task<bool> checkpoint_exists(std::string path) {
  const std::optional<wall_time_point> written = co_await detail::checkpoint_time(std::move(path));
  co_return written.has_value();
}

task<std::optional<wall_time_point>> detail::checkpoint_time(std::string path) {
  file_status there;
  try {
    there = co_await get_status(std::move(path));
  } catch (const failure& e) {
    if (e.code() != errc::not_found && e.code() != errc::failed_precondition) throw;
  }
  if (!there.is_regular) co_return std::nullopt;
  const std::chrono::nanoseconds since(there.modified_ns);
  co_return wall_time_point(std::chrono::duration_cast<wall_time_point::duration>(since));
}

task<std::vector<wall_time_point>> get_checkpoint_mtimes(std::vector<std::string> paths) {
  std::vector<wall_time_point> times;
  for (const std::string& path : paths) {
    const std::optional<wall_time_point> written = co_await detail::checkpoint_time(path);
    if (written) times.push_back(*written);
  }
  co_return times;
}

task<void> remove_checkpoint(std::string path) { co_await remove_file(std::move(path)); }

}  // namespace LEAT
