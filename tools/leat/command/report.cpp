// leat report: writes the curves of training runs as a web page or as JSON.

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <memory>
#include <set>
#include <system_error>
#include <utility>

#include <leat/base/error.hpp>
#include <leat/train/summary/event_reader.hpp>

#include "command/commands.hpp"
#include "input/corruption_count.hpp"
#include "input/for_each_file.hpp"
#include "input/paths.hpp"
#include "output/record_sink.hpp"
#include "report/report_page.hpp"
#include "terminal/numbers.hpp"
#include "terminal/option_types.hpp"
#include "terminal/signals.hpp"
#include "terminal/text.hpp"

namespace tool {
namespace {

struct report_options {
  std::vector<std::string> directories;
  std::string output = "-";
  page_options page;
};

struct found_run {
  std::string name;
  std::string path;
};

// The path of a run relative to the given directory, or its full path if several were given.
std::string name_of(const std::string& path, const std::string& directory, bool only_one) {
  if (!only_one) return path;
  const std::string name = std::filesystem::path(path).lexically_relative(directory).string();
  if (!name.empty() && name != ".") return name;
  const std::filesystem::path whole = std::filesystem::path(directory).lexically_normal();
  return whole.has_filename() ? whole.filename().string() : directory;
}

leat::task<> find_runs(std::string directory, bool only_one, std::vector<found_run>& to) {
  const std::vector<std::string> paths = co_await leat::find_event_runs(directory);
  if (paths.empty()) {
    throw leat::failure(leat::errc::not_found,
                        directory +
                            ": no event file found in it or below: the name of an event file "
                            "contains 'tfevents'");
  }
  for (const std::string& path : paths) to.push_back({name_of(path, directory, only_one), path});
}

// Directories may be given twice, or contain each other: a run keeps its first name.
void remove_duplicates(std::vector<found_run>& runs) {
  std::set<std::filesystem::path> seen;
  const auto is_duplicate = [&](const found_run& r) {
    std::error_code unknown;  // reading the run reports the error
    const std::filesystem::path real = std::filesystem::canonical(r.path, unknown);
    return !unknown && !seen.insert(real).second;
  };
  std::erase_if(runs, is_duplicate);
}

std::vector<found_run> find_all(const report_options& options, program& p) {
  std::vector<found_run> runs;
  const bool only_one = options.directories.size() == 1;
  for (const std::string& directory : options.directories) {
    try {
      run_until_signal(1, [&] { return find_runs(directory, only_one, runs); });
    } catch (const ended_by_signal&) {
      throw;
    } catch (...) {
      p.report(directory, describe(std::current_exception()));
    }
  }
  remove_duplicates(runs);
  return runs;
}

// Skips damaged records and reports them.
leat::event_reader_options reading(corruption_count& sum) {
  leat::event_reader_options how;
  how.corruption.policy = leat::corruption_policy::resync;
  how.corruption.max_reports = UINT64_MAX;
  how.corruption.on_report = make_corruption_reporter(sum);
  return how;
}

struct read_run {
  leat::event_run content;
  corruption_count left_out;
};

leat::task<read_run> read_one(std::string path) {
  read_run run;
  const leat::event_reader_options how = reading(run.left_out);
  run.content = co_await leat::read_events(std::move(path), how);
  co_return run;
}

// JSON has no number for a value that is not finite.
json number(double value) { return std::isfinite(value) ? json(value) : json(nullptr); }

json scalar_json(const std::vector<leat::scalar_point>& points) {
  json steps = json::array();
  json times = json::array();
  json values = json::array();
  for (const leat::scalar_point& p : points) {
    steps.push_back(p.step);
    times.push_back(number(p.wall_time));
    values.push_back(number(double{p.value}));
  }
  return {
      {"steps", std::move(steps)}, {"wall_times", std::move(times)}, {"values", std::move(values)}};
}

json histogram_json(const std::vector<leat::histogram_point>& points) {
  json steps = json::array();
  json times = json::array();
  json values = json::array();
  for (const leat::histogram_point& p : points) {
    steps.push_back(p.step);
    times.push_back(number(p.wall_time));
    values.push_back({{"count", number(p.value.num)},
                      {"min", number(p.value.min)},
                      {"max", number(p.value.max)},
                      {"sum", number(p.value.sum)},
                      {"percentiles", percentiles_of(p.value)}});
  }
  return {
      {"steps", std::move(steps)}, {"wall_times", std::move(times)}, {"values", std::move(values)}};
}

json run_json(const reported_run& run) {
  const leat::event_run& r = run.content;
  json scalars = json::object();
  for (const auto& [tag, points] : r.series.scalars) scalars[tag] = scalar_json(points);
  json histograms = json::object();
  for (const auto& [tag, points] : r.series.histograms) histograms[tag] = histogram_json(points);
  return {{"path", display_path(run.path)},
          {"name", escape_text(run.name)},
          {"files", r.files.size()},
          {"events", r.series.events},
          {"discarded", r.series.discarded},
          {"damaged", r.skipped},
          {"unwritten_bytes", r.unwritten},
          {"scalars", std::move(scalars)},
          {"histograms", std::move(histograms)}};
}

leat::task<> write_text(sink_options where, std::string text, output& out) {
  const auto to = co_await open_sink(std::move(where), out);
  co_await to->write(leat::as_bytes(text));
  co_await to->close();
}

// Before the runs are read, so that a run which cannot be read is not replaced either.
void throw_if_run_is_replaced(const std::string& directory, const sink_options& sink) {
  if (sink.path == "-") return;
  std::error_code ignored;  // reading the run reports the error
  for (std::filesystem::directory_iterator at(directory, ignored), end; !ignored && at != end;
       at.increment(ignored)) {
    const std::string path = at->path().string();
    if (at->path().filename().native().find("tfevents") != std::string::npos)
      throw_if_replaced(path, sink);
  }
}

void report_runs(const report_options& options, program& p) {
  const std::vector<found_run> found = find_all(options, p);
  sink_options where;
  where.path = options.output;
  where.records = format::fixed;  // unchanged
  std::vector<std::string> paths;
  for (const found_run& f : found) {
    throw_if_run_is_replaced(f.path, where);
    paths.push_back(f.path);
  }
  std::vector<reported_run> runs;
  std::string lines;  // JSON, for an output file
  const auto done = [&](const std::string& path, const read_run& r) {
    if (r.left_out.regions > 0) p.set_status(status::data);
    const auto named = std::find_if(found.begin(), found.end(),
                                    [&](const found_run& f) { return f.path == path; });
    runs.push_back({named->name, path, r.content});
    if (p.json) {
      lines += to_line(run_json(runs.back()));
      runs.pop_back();
      if (options.output == "-") p.out.write(std::exchange(lines, {}));
    }
  };
  file_loop<read_run>(
      p, paths, [](std::string path) { return read_one(std::move(path)); }, done)
      .run();
  if (runs.empty() && lines.empty()) return;
  const std::string text = p.json ? std::move(lines) : report_page(runs, options.page);
  run_until_signal(1, [&] { return write_text(where, text, p.out); });
}

}  // namespace

void add_report(CLI::App& app, program& p) {
  CLI::App* command =
      add_command(app, p, "report", "Draw the curves of training runs as a web page");
  const auto options = std::make_shared<report_options>();
  as_path(command->add_option("LOGDIR", options->directories,
                              "Directories of runs: at or below them are the event files"))
      ->type_name("")
      ->required();
  as_path(command->add_option("-o,--output", options->output,
                              "Write the page, or with --json the values, to PATH\n"
                              "(default: standard output)"));
  command->add_option("--title", options->page.title, "Print this title above the page");
  as_real(command->add_option(
              "--smoothing", options->page.smoothing,
              "Draw a moving average; W is the weight of the past, 0 to 0.999\n"
              "(default: 0, no average)\n\n"
              "The average is drawn in front of each curve. On a logarithmic axis, the logarithms "
              "are averaged."),
          0, 0.999)
      ->type_name("W");
  command->add_flag("--log-scale", options->page.log_scale,
                    "Draw scalars with only positive values on a logarithmic axis");
  command
      ->add_option(
          "--max-points", options->page.max_points,
          "Draw at most N points of each curve, 4 to 1000000 (default: 1000)\n\n"
          "The peaks of a curve are always drawn. On a page with more than 200 curves, the "
          "default is lower, but at least 100. --json prints all values.")
      ->check(CLI::Range(std::size_t{4}, std::size_t{1'000'000}).description(""))
      ->type_name("N");
  command->callback([options, &p] { p.run = [options, &p] { report_runs(*options, p); }; });
}

}  // namespace tool
