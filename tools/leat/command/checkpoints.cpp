// leat checkpoints: lists, shows, verifies and prunes the checkpoints of a directory.

#include <algorithm>
#include <chrono>
#include <ctime>
#include <filesystem>
#include <limits>
#include <map>
#include <memory>
#include <set>
#include <utility>

#include <fmt/format.h>

#include <leat/async/loop/block_on.hpp>
#include <leat/base/error.hpp>
#include <leat/train/checkpoint/checkpoint_directory.hpp>
#include <leat/train/checkpoint/directory_lock.hpp>

#include "command/commands.hpp"
#include "input/checkpoint_info.hpp"
#include "terminal/numbers.hpp"
#include "terminal/option_types.hpp"
#include "terminal/text.hpp"

namespace tool {
namespace {

struct checkpoints_options {
  std::string directory;
  std::string show;
  bool verify = false;
  std::uint64_t keep = 0;  // value of --prune; 0: not set
  bool prune_preserved = false;
};

// UTC, so that the output does not depend on the machine.
std::string time_text(double seconds) {
  const auto whole = static_cast<std::time_t>(seconds);
  std::tm parts{};
  ::gmtime_r(&whole, &parts);
  char text[32];
  const std::size_t n = std::strftime(text, sizeof text, "%Y-%m-%d %H:%M:%SZ", &parts);
  return {text, n};
}

std::string name_in(const std::string& path) {
  return std::filesystem::path(path).filename().string();
}

std::string shape_text(const leat::checkpoint_entry& e) {
  const std::string type =
      e.type.empty() ? fmt::format("{}-byte", e.element_size) : escape_text(e.type);
  if (e.type == "object" || e.type == "string") return type;
  return fmt::format("{}[{}]", type, e.count());
}

json info_json(const checkpoint_info& c, bool verify) {
  json line{{"path", c.path}};
  if (c.step) line["step"] = *c.step;
  line["time"] = c.time;
  line["size"] = c.size;
  line["intact"] = c.error.empty();
  line["verified"] = verify;
  if (c.error.empty()) {
    line["identity"] = c.table.identity;
    line["entries"] = c.table.entries.size();
  } else {
    line["error"] = c.error;
  }
  return line;
}

void report_corruption(const checkpoint_info& c, program& p) {
  if (c.error.empty()) return;
  p.out.flush();
  print_error(fmt::format("{}: {}", c.path, c.error));
  p.set_status(status::data);
}

void list(const std::vector<checkpoint_info>& all, const std::set<std::string>& latest, bool verify,
          program& p) {
  std::size_t width = 10;
  for (const checkpoint_info& c : all)
    width = std::max(width, escape_controls(name_in(c.path)).size());
  const palette paint(p.color);
  for (const checkpoint_info& c : all) {
    if (p.json) {
      p.out.write_line(info_json(c, verify));
    } else {
      const std::string state =
          c.error.empty() ? paint.good(verify ? "verified" : "intact  ") : paint.bad("corrupt ");
      std::string line = fmt::format(
          "{} {:<{}}  step {:>10}  {}  {:>10}", state, escape_controls(name_in(c.path)), width,
          c.step ? std::to_string(*c.step) : "-", time_text(c.time), size_text(c.size));
      if (!c.table.identity.empty()) line += "  " + escape_text(c.table.identity);
      if (latest.contains(name_in(c.path))) line += "  (latest)";
      p.out.write(line + "\n");
    }
    report_corruption(c, p);
  }
}

void show(const checkpoints_options& options, program& p) {
  const checkpoint_info c = read_checkpoint_info(options.show, options.verify);
  if (p.json) {
    json line = info_json(c, options.verify);
    json entries = json::array();
    for (const leat::checkpoint_entry& e : c.table.entries) {
      entries.push_back({{"name", e.name},
                         {"type", e.type},
                         {"element_size", e.element_size},
                         {"count", e.count()},
                         {"offset", e.offset},
                         {"size", e.size},
                         {"checksum", e.checksum}});
    }
    line["entries"] = std::move(entries);
    p.out.write_line(line);
  } else {
    list({c}, {}, options.verify, p);
    std::size_t width = 0;
    for (const auto& e : c.table.entries) width = std::max(width, escape_text(e.name).size());
    for (const auto& e : c.table.entries) {
      p.out.write(fmt::format("  {:<{}}  {:<16}  {}\n", escape_text(e.name), width, shape_text(e),
                              size_text(e.size)));
    }
    return;
  }
  report_corruption(c, p);
}

// Removes the entries of a state that are in `names`.
void remove_from(leat::checkpoint_state& state, const std::set<std::string>& names) {
  auto& paths = state.all_model_checkpoint_paths;
  auto& times = state.all_model_checkpoint_timestamps;
  const bool timed = times.size() == paths.size();
  std::size_t to = 0;
  for (std::size_t i = 0; i < paths.size(); ++i) {
    if (names.contains(name_in(paths[i]))) continue;
    if (to != i) paths[to] = std::move(paths[i]);
    if (timed) times[to] = times[i];
    ++to;
  }
  paths.resize(to);
  if (timed) times.resize(to);
}

// Returns the names of the checkpoints that a saver preserves (saver_options::keep_every): the list
// does not contain them, and they are not newer than the last preserved one. The state file
// contains the time at which the save of that one started; its file is newer than this time, but
// older than all later checkpoints.
std::set<std::string> find_preserved(const std::optional<leat::checkpoint_state>& state,
                                     const std::vector<checkpoint_info>& all) {
  if (!state || !state->last_preserved_timestamp) return {};
  const double last = *state->last_preserved_timestamp;
  std::set<std::string> listed{name_in(state->model_checkpoint_path)};
  for (const std::string& path : state->all_model_checkpoint_paths) listed.insert(name_in(path));
  double oldest_listed = std::numeric_limits<double>::infinity();
  for (const checkpoint_info& c : all) {
    if (listed.contains(name_in(c.path))) oldest_listed = std::min(oldest_listed, c.time);
  }
  std::set<std::string> names;
  const checkpoint_info* next = nullptr;  // the oldest one that is newer
  for (const checkpoint_info& c : all) {
    if (listed.contains(name_in(c.path))) continue;
    if (c.time <= last) {
      names.insert(name_in(c.path));
    } else if (c.time <= oldest_listed && (!next || c.time < next->time)) {
      next = &c;
    }
  }
  if (next) names.insert(name_in(next->path));
  return names;
}

// Returns, for each basename, all but the newest `keep` intact checkpoints. Corrupt ones are not
// counted, and those that are newer than a kept one are not returned.
std::vector<checkpoint_info> surplus(const std::vector<checkpoint_info>& all, std::uint64_t keep,
                                     const std::set<std::string>& latest) {
  std::map<std::string, std::uint64_t> intact;  // number of newer ones, by basename
  std::vector<checkpoint_info> result;
  for (auto c = all.rbegin(); c != all.rend(); ++c) {
    if (!c->step) continue;
    std::uint64_t& newer = intact[c->basename()];
    if (newer >= keep && !latest.contains(name_in(c->path))) result.push_back(*c);
    if (c->error.empty()) ++newer;
  }
  std::ranges::reverse(result);
  return result;
}

std::set<std::string> find_latest(const std::optional<leat::checkpoint_state>& state) {
  if (!state) return {};
  return {name_in(state->model_checkpoint_path)};
}

void report_preserved(const checkpoint_info& c, program& p) {
  if (p.json) {
    json line = info_json(c, true);
    line["removed"] = false;
    p.out.write_line(line);
  } else {
    p.out.write(fmt::format("kept    {}, which the program preserves (see --prune-preserved)\n",
                            escape_controls(name_in(c.path))));
  }
}

// Updates the state file before it deletes a checkpoint, so that it never names a deleted one.
leat::task<> prune(const checkpoints_options& options, program& p) {
  leat::directory_lock lock = co_await leat::directory_lock::acquire(options.directory);
  std::optional<leat::checkpoint_state> state =
      co_await leat::get_checkpoint_state(options.directory);
  const auto all = find_checkpoints(options.directory, true);
  for (const checkpoint_info& c : all) report_corruption(c, p);
  auto to_remove = surplus(all, options.keep, find_latest(state));
  if (!options.prune_preserved) {
    const std::set<std::string> preserved = find_preserved(state, all);
    const auto is_preserved = [&](const checkpoint_info& c) {
      return preserved.contains(name_in(c.path));
    };
    for (const checkpoint_info& c : to_remove) {
      if (is_preserved(c)) report_preserved(c, p);
    }
    std::erase_if(to_remove, is_preserved);
  }
  if (state && !to_remove.empty()) {
    std::set<std::string> names;
    for (const checkpoint_info& c : to_remove) names.insert(name_in(c.path));
    remove_from(*state, names);
    leat::checkpoint_state_options how;
    how.save_relative_paths = true;
    co_await leat::update_checkpoint_state(options.directory, *state, how);
  }
  for (const checkpoint_info& c : to_remove) {
    co_await leat::remove_checkpoint(c.path);
    if (p.json) {
      json line = info_json(c, true);
      line["removed"] = true;
      p.out.write_line(line);
    } else {
      p.out.write(
          fmt::format("removed {}, {}\n", escape_controls(name_in(c.path)), size_text(c.size)));
    }
  }
  co_await lock.release();
}

leat::task<> read_state(std::string directory, std::optional<leat::checkpoint_state>& state) {
  state = co_await leat::get_checkpoint_state(std::move(directory));
}

void run_checkpoints(const checkpoints_options& options, program& p) {
  p.reads_tfrecords = false;
  if (!options.show.empty()) {
    if (options.keep > 0 || !options.directory.empty()) {
      throw usage_error("--show cannot be combined with DIR or --prune");
    }
    return show(options, p);
  }
  if (options.prune_preserved && options.keep == 0) {
    throw usage_error("--prune-preserved requires --prune KEEP");
  }
  if (options.directory.empty()) throw usage_error("DIR is required: leat checkpoints DIR");
  if (!std::filesystem::is_directory(options.directory)) {
    throw leat::failure(leat::errc::not_found, options.directory + ": not a directory");
  }
  if (options.keep > 0) return leat::block_on(prune(options, p));
  std::optional<leat::checkpoint_state> state;
  try {
    leat::block_on(read_state(options.directory, state));
  } catch (const leat::failure& e) {
    p.report(options.directory, describe(std::current_exception()));
  }
  const auto all = find_checkpoints(options.directory, options.verify);
  if (all.empty()) {
    throw leat::failure(leat::errc::not_found, options.directory + ": no checkpoints found");
  }
  list(all, find_latest(state), options.verify, p);
}

}  // namespace

void add_checkpoints(CLI::App& app, program& p) {
  CLI::App* command =
      add_command(app, p, "checkpoints", "List, show, verify and prune checkpoints");
  const auto options = std::make_shared<checkpoints_options>();
  as_path(command->add_option("DIR", options->directory, "The directory of the checkpoints"))
      ->type_name("");
  as_path(command->add_option("--show", options->show,
                              "Show one checkpoint instead, with its entries\n\n"
                              "Print the name, type, number of elements and size of each entry."))
      ->type_name("FILE");
  command->add_flag("--verify", options->verify, "Also read every value and compare its checksum");
  as_number(
      command->add_option("--prune", options->keep,
                          "Delete all but the newest KEEP intact checkpoints of each basename\n\n"
                          "All values are read first. A corrupt checkpoint is reported, sets "
                          "the exit status to 1, and does not count as kept.\n\n"
                          "These checkpoints are never deleted:\n"
                          "- the checkpoint that the state file names as the latest\n"
                          "- checkpoints that are newer than a kept one\n"
                          "- checkpoints without a step\n"
                          "- checkpoints that the program preserves (keep_every, "
                          "keep_checkpoint_every_n_hours). The state file does not list "
                          "them, and they are not newer than its last_preserved_timestamp. "
                          "Their names are printed.\n\n"
                          "The directory must not be in use by a program. The state file is "
                          "updated before a checkpoint is deleted."),
      1)
      ->type_name("KEEP");
  command->add_flag("--prune-preserved", options->prune_preserved,
                    "With --prune, also delete the checkpoints that the program preserves");
  command->callback([options, &p] { p.run = [options, &p] { run_checkpoints(*options, p); }; });
}

}  // namespace tool
