#include "trace/trace_summary.hpp"

#include <algorithm>
#include <string_view>
#include <utility>

namespace tool {

namespace {

trace_time time_in(const json& event, const char* member) {
  return trace_time(event.at(member).get<double>());
}

// Returns an empty string if the event has no such argument.
std::string argument(const json& event, const char* name) {
  const auto arguments = event.find("args");
  if (arguments == event.end()) return {};
  const auto found = arguments->find(name);
  return found == arguments->end() ? std::string() : found->get<std::string>();
}

std::vector<std::pair<std::string, std::string>> task_locals(const json& event) {
  constexpr std::string_view prefix = "local.";
  std::vector<std::pair<std::string, std::string>> found;
  for (const auto& [name, value] : event.at("args").items()) {
    if (name.starts_with(prefix)) found.emplace_back(name.substr(prefix.size()), value);
  }
  return found;
}

bool is_longer(const trace_run& a, const trace_run& b) {
  return a.lasted != b.lasted ? a.lasted > b.lasted : a.begin < b.begin;
}

}  // namespace

const std::pair<const std::string, trace_time>& task_totals::main_wait() const {
  return *std::ranges::max_element(waits, {}, [](const auto& w) { return w.second; });
}

void trace_summary::add(const json& event) {
  const auto phase = event.at("ph").get<std::string>();
  const auto name = event.at("name").get<std::string>();
  if (phase == "M") return add_metadata(event, name);
  const std::string category = event.value("cat", std::string());
  length = std::max(length, time_in(event, "ts"));
  if (phase == "X" && (category == "run" || category == "inner_run")) add_run(event, name);
  if (phase == "X" && category == "turn") add_turn(event);
  if (phase == "b" && category == "task") add_begin(event, name);
  if (phase == "e" && category == "task") add_end(event);
}

void trace_summary::add_metadata(const json& event, const std::string& name) {
  if (name == "process_name") process = argument(event, "name");
  if (name == "thread_name") {
    schedulers[event.at("tid").get<std::uint64_t>()].name = argument(event, "name");
  }
  if (name == "trace_end") {
    is_complete = true;
    lost_events = event.at("args").at("lost_events").get<std::uint64_t>();
    reached_max_bytes = event.at("args").at("reached_max_bytes").get<int>() != 0;
  }
}

// `longest` is a heap until finish(), with its shortest run at the front.
void trace_summary::keep(std::vector<trace_run>& longest, trace_run run) const {
  if (most_ == 0) return;
  if (longest.size() == most_) {
    if (!is_longer(run, longest.front())) return;
    std::ranges::pop_heap(longest, is_longer);
    longest.pop_back();
  }
  longest.push_back(std::move(run));
  std::ranges::push_heap(longest, is_longer);
}

void trace_summary::add_run(const json& event, const std::string& name) {
  trace_run run{.scheduler = event.at("tid").get<std::uint64_t>(),
                .begin = time_in(event, "ts"),
                .lasted = time_in(event, "dur"),
                .task = name,
                .from = argument(event, "from"),
                .until = argument(event, "until"),
                .values = task_locals(event)};
  length = std::max(length, run.begin + run.lasted);
  ++runs;
  scheduler_totals& on = schedulers[run.scheduler];
  task_totals& of = by_name[name];
  ++on.runs;
  ++of.runs;
  if (event.at("cat") == "run") on.busy += run.lasted;  // an inner run is a part of another one
  of.busy += run.lasted;
  on.longest_run = std::max(on.longest_run, run.lasted);
  of.longest_run = std::max(of.longest_run, run.lasted);
  keep(longest_runs, std::move(run));
}

void trace_summary::add_turn(const json& event) {
  length = std::max(length, time_in(event, "ts") + time_in(event, "dur"));
  keep(longest_turns, {.scheduler = event.at("tid").get<std::uint64_t>(),
                       .begin = time_in(event, "ts"),
                       .lasted = time_in(event, "dur"),
                       .runs = event.at("args").at("runs").get<std::uint64_t>()});
}

// Of a task, or of its wait.
void trace_summary::add_begin(const json& event, const std::string& name) {
  live_task& t = live_[event.at("id").get<std::string>()];
  if (!argument(event, "spawned").empty()) {
    ++tasks;
    ++by_name[name].tasks;
    t = {.name = name};
    return;
  }
  t.wait = name;
  t.at = argument(event, "at");
  t.since = time_in(event, "ts");
  t.is_waiting = true;
}

void trace_summary::add_end(const json& event) {
  const auto found = live_.find(event.at("id").get<std::string>());
  if (found == live_.end()) return;  // it had started before the trace
  live_task& t = found->second;
  if (t.is_waiting) {
    const trace_time waited = time_in(event, "ts") - t.since;
    task_totals& totals = by_name[t.name];
    totals.waited += waited;
    totals.waits[t.wait] += waited;
    t.is_waiting = false;
  } else {
    live_.erase(found);
  }
}

void trace_summary::finish() {
  std::ranges::sort_heap(longest_runs, is_longer);
  std::ranges::sort_heap(longest_turns, is_longer);
  for (const auto& [id, t] : live_) {
    if (!t.is_waiting) continue;
    const trace_time waited = length - t.since;
    task_totals& totals = by_name[t.name];
    totals.waited += waited;
    totals.waits[t.wait] += waited;
    open_waits.push_back({.task = t.name, .wait = t.wait, .at = t.at, .lasted = waited});
  }
  std::ranges::sort(open_waits, [](const open_wait& a, const open_wait& b) {
    return a.lasted != b.lasted ? a.lasted > b.lasted : a.task < b.task;
  });
  if (open_waits.size() > most_) open_waits.resize(most_);
}

}  // namespace tool
