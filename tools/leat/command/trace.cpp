// leat trace: summarises the trace of a program.

#include <algorithm>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <leat/base/error.hpp>
#include <leat/io/reader/line_reader.hpp>

#include "command/commands.hpp"
#include "input/file_probe.hpp"
#include "input/for_each_file.hpp"
#include "input/paths.hpp"
#include "terminal/numbers.hpp"
#include "terminal/option_types.hpp"
#include "terminal/progress.hpp"
#include "terminal/text.hpp"
#include "trace/trace_summary.hpp"

namespace tool {
namespace {

struct trace_options {
  std::vector<std::string> files;
  std::size_t most = 10;
};

[[noreturn]] void throw_no_trace(const std::string& path, std::uint64_t line,
                                 std::string_view why) {
  throw leat::failure(leat::errc::data_loss,
                      fmt::format("{}, line {}: {}: pass a file that leat::trace_file has written",
                                  path, line, why));
}

// One line of a trace: "[", an event with a comma, or the last event, and "]".
class trace_parser {
 public:
  trace_parser(std::string path, std::size_t most) : path_(std::move(path)), summary_(most) {}

  void add(std::string_view line) {
    if (!held_back_.empty()) parse(std::exchange(held_back_, {}), false);
    ++lines_;
    if (lines_ == 1 && line != "[") throw_no_trace(path_, 1, "a trace begins with a line \"[\"");
    if (line == "[" || line == "]" || line.empty()) return;
    held_back_ = line;
  }

  // The end of the file may be missing, and with it a part of the last line.
  [[nodiscard]] trace_summary finish() {
    if (lines_ == 0) throw_no_trace(path_, 1, "the file is empty");
    if (!held_back_.empty()) parse(std::move(held_back_), true);
    if (events_ == 0) throw_no_trace(path_, lines_, "it contains no event");
    summary_.finish();
    return std::move(summary_);
  }

 private:
  void parse(std::string line, bool may_be_cut_off) {
    if (line.ends_with(',')) line.pop_back();
    json event;
    try {
      event = json::parse(line);
    } catch (const json::exception&) {
      if (may_be_cut_off) return;
      throw_no_trace(path_, lines_, "it is not an event in JSON");
    }
    try {
      summary_.add(event);
      ++events_;
    } catch (const json::exception&) {
      throw_no_trace(path_, lines_, "the event lacks a member, or one has the wrong type");
    }
  }

  const std::string path_;
  std::uint64_t lines_ = 0;
  std::uint64_t events_ = 0;  // metadata included
  std::string held_back_;     // the last line so far
  trace_summary summary_;
};

leat::task<trace_summary> read_trace(std::string path, std::size_t most, progress& shown) {
  trace_parser parser(display_path(path), most);
  const auto reader = co_await leat::line_reader::open(std::move(path));
  leat::line_batch batch;
  for (bool more = true; more;) {
    more = co_await reader->read_batch(batch);
    std::uint64_t bytes = batch.size();
    for (const std::string_view line : batch) {
      bytes += line.size();
      parser.add(line);
    }
    shown.add(bytes);
  }
  co_return parser.finish();
}

// "1.204 s", "12.3 ms", "45.1 us"
std::string time_text(trace_time t) {
  const double us = t.count();
  if (us >= 1e6) return fmt::format("{:.3f} s", us / 1e6);
  if (us >= 1e3) return fmt::format("{:.1f} ms", us / 1e3);
  return fmt::format("{:.1f} us", us);
}

// ------------------------------------------------------------------------------------- for people

std::string heading(const std::string& path, const trace_summary& s) {
  std::string text = fmt::format(
      "{}: {} of '{}', {}, {}, {}\n", escape_controls(display_path(path)), time_text(s.length),
      escape_text(s.process), count_text(s.schedulers.size(), "scheduler"),
      count_text(s.tasks, "task"), count_text(s.runs, "run"));
  if (!s.is_complete)
    text += "The end of the file is missing: the program was still running, or was killed.\n";
  if (s.reached_max_bytes)
    text += "The trace ended early, because the file reached trace_file_options::max_bytes.\n";
  if (s.lost_events > 0) {
    text += fmt::format("{} were dropped, because the disk was too slow or memory ran out.\n",
                        count_text(s.lost_events, "event"));
  }
  return text;
}

std::string scheduler_table(const trace_summary& s) {
  std::string text =
      fmt::format("\n{:<24}  {:>7}  {:>12}  {:>11}\n", "scheduler", "busy", "runs", "longest run");
  for (const auto& [number, on] : s.schedulers) {
    const double share = s.length.count() > 0 ? 100 * on.busy / s.length : 0;
    text += fmt::format("{:<24}  {:>5.1f} %  {:>12}  {:>11}\n", escape_text(on.name), share,
                        on.runs, time_text(on.longest_run));
  }
  return text;
}

using named_totals = std::pair<std::string, task_totals>;

// The busiest first.
std::vector<named_totals> busiest(const trace_summary& s) {
  std::vector<named_totals> all(s.by_name.begin(), s.by_name.end());
  std::ranges::sort(all, [](const named_totals& a, const named_totals& b) {
    if (a.second.busy != b.second.busy) return a.second.busy > b.second.busy;
    return a.first < b.first;
  });
  return all;
}

std::string task_table(const trace_summary& s, std::size_t most) {
  const std::vector<named_totals> all = busiest(s);
  const std::size_t shown = std::min(all.size(), most);
  std::size_t width = 4;
  for (std::size_t i = 0; i < shown; ++i) width = std::max(width, escape_text(all[i].first).size());
  std::string text =
      fmt::format("\n{:<{}}  {:>7}  {:>10}  {:>10}  {:>10}  {:>9}  {:>11}  waits most for\n",
                  "task", width, "tasks", "busy", "waiting", "runs", "runs/task", "longest run");
  for (std::size_t i = 0; i < shown; ++i) {
    const auto& [name, t] = all[i];
    text +=
        fmt::format("{:<{}}  {:>7}  {:>10}  {:>10}  {:>10}  {:>9.1f}  {:>11}", escape_text(name),
                    width, t.tasks, time_text(t.busy), time_text(t.waited), t.runs,
                    t.tasks > 0 ? static_cast<double>(t.runs) / static_cast<double>(t.tasks) : 0,
                    time_text(t.longest_run));
    if (!t.waits.empty()) {
      const auto& [wait, waited] = t.main_wait();
      text += fmt::format("  {}, {}", escape_text(wait), time_text(waited));
    }
    text += "\n";
  }
  if (all.size() > shown)
    text += fmt::format("and {} more names: raise --list\n", all.size() - shown);
  return text;
}

std::string run_lists(const trace_summary& s) {
  std::string text;
  const auto scheduler_name = [&](std::uint64_t number) {
    const auto found = s.schedulers.find(number);
    return found == s.schedulers.end() ? std::to_string(number) : escape_text(found->second.name);
  };
  if (!s.longest_runs.empty()) text += "\nlongest runs, in which a task did not wait\n";
  for (const trace_run& r : s.longest_runs) {
    text += fmt::format("  {:>10}  at {}, {} on {}", time_text(r.lasted), time_text(r.begin),
                        escape_text(r.task), scheduler_name(r.scheduler));
    for (const auto& [name, value] : r.values) {
      text += fmt::format(", {} {}", escape_text(name), escape_text(value));
    }
    text += "\n";
    if (!r.until.empty()) {
      text += fmt::format("{:14}from {} to {}\n", "",
                          r.from.empty() ? "the start of the task" : escape_text(r.from),
                          escape_text(r.until));
    }
  }
  if (!s.longest_turns.empty()) text += "\nlongest turns, in which a scheduler ran several tasks\n";
  for (const trace_run& t : s.longest_turns) {
    text += fmt::format("  {:>10}  at {}, {} on {}\n", time_text(t.lasted), time_text(t.begin),
                        count_text(t.runs, "run"), scheduler_name(t.scheduler));
  }
  if (!s.open_waits.empty()) text += "\nlongest waits that had not ended\n";
  for (const open_wait& w : s.open_waits) {
    text += fmt::format("  {:>10}  {}: {}, at {}\n", time_text(w.lasted), escape_text(w.task),
                        escape_text(w.wait), escape_text(w.at));
  }
  return text;
}

// ------------------------------------------------------------------------------------ for programs

json run_json(const trace_run& r) {
  json object{
      {"begin_us", r.begin.count()}, {"lasted_us", r.lasted.count()}, {"scheduler", r.scheduler}};
  if (r.task.empty()) {
    object["runs"] = r.runs;
    return object;
  }
  object["task"] = r.task;
  if (!r.until.empty()) {
    object["from"] = r.from;
    object["until"] = r.until;
    for (const auto& [name, value] : r.values) object["values"][name] = value;
  }
  return object;
}

json summary_json(const std::string& path, const trace_summary& s) {
  json object{{"path", display_path(path)},
              {"process", s.process},
              {"length_us", s.length.count()},
              {"tasks", s.tasks},
              {"runs", s.runs},
              {"complete", s.is_complete},
              {"lost_events", s.lost_events},
              {"reached_max_bytes", s.reached_max_bytes}};
  json schedulers = json::array();
  for (const auto& [number, on] : s.schedulers) {
    schedulers.push_back({{"scheduler", number},
                          {"name", on.name},
                          {"runs", on.runs},
                          {"busy_us", on.busy.count()},
                          {"longest_run_us", on.longest_run.count()}});
  }
  json names = json::array();
  for (const auto& [name, t] : busiest(s)) {
    json waits = json::object();
    for (const auto& [wait, waited] : t.waits) waits[wait] = waited.count();
    names.push_back({{"name", name},
                     {"tasks", t.tasks},
                     {"runs", t.runs},
                     {"busy_us", t.busy.count()},
                     {"waiting_us", t.waited.count()},
                     {"longest_run_us", t.longest_run.count()},
                     {"waits_us", std::move(waits)}});
  }
  json runs = json::array();
  for (const trace_run& r : s.longest_runs) runs.push_back(run_json(r));
  json turns = json::array();
  for (const trace_run& t : s.longest_turns) turns.push_back(run_json(t));
  json open = json::array();
  for (const open_wait& w : s.open_waits) {
    open.push_back(
        {{"task", w.task}, {"wait", w.wait}, {"at", w.at}, {"lasted_us", w.lasted.count()}});
  }
  object["schedulers"] = std::move(schedulers);
  object["names"] = std::move(names);
  object["longest_runs"] = std::move(runs);
  object["longest_turns"] = std::move(turns);
  object["open_waits"] = std::move(open);
  return object;
}

void run_trace(const trace_options& options, program& p) {
  p.reads_tfrecords = false;
  const std::vector<std::string> paths = expand_paths(options.files);
  progress shown("trace", bytes_of(paths), p.quiet);
  const auto work = [&](std::string path) {
    return read_trace(std::move(path), options.most, shown);
  };
  const auto done = [&](const std::string& path, const trace_summary& s) {
    if (p.json) {
      p.out.write_line(summary_json(path, s));
    } else {
      p.out.write(heading(path, s) + scheduler_table(s) + task_table(s, options.most) +
                  run_lists(s));
    }
  };
  file_loop<trace_summary>(p, paths, work, done).run();
}

}  // namespace

void add_trace(CLI::App& app, program& p) {
  CLI::App* command =
      add_command(app, p, "trace", "Summarise a trace: tasks that are busy, wait or block a loop");
  const auto options = std::make_shared<trace_options>();
  as_path(command->add_option("FILE", options->files, "Files of leat::trace_file"))
      ->type_name("")
      ->required();
  as_number(command->add_option("--list", options->most,
                                "List at most N names of tasks, runs, turns and waits\n"
                                "(default: 10)"));
  command->callback([options, &p] { p.run = [options, &p] { run_trace(*options, p); }; });
}

}  // namespace tool
