#include "leat/async/dump/metrics.hpp"

#include <algorithm>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "async/dump/dump_collector.hpp"
#include "async/dump/internal/metric_sample.hpp"
#include "async/internal/watched_run.hpp"
#include "async/scheduler/scheduler_records.hpp"

namespace LEAT {
namespace detail {
namespace {

struct scheduler_metric {
  metric_family family;
  std::string (*value)(const scheduler_counts& c);
};

constexpr scheduler_metric of_schedulers[] = {
    {{"leat_scheduler_tasks", "gauge", "Tasks that have started and not ended."},
     [](const scheduler_counts& c) { return std::to_string(c.tasks); }},
    {{"leat_scheduler_started_tasks_total", "counter", "Tasks that have started."},
     [](const scheduler_counts& c) { return std::to_string(c.all_tasks); }},
    {{"leat_scheduler_turns_total", "counter", "Loop iterations."},
     [](const scheduler_counts& c) { return std::to_string(c.turns); }},
    {{"leat_scheduler_busy_seconds_total", "counter",
      "Time in which tasks ran, while a warn_on_long_turns existed."},
     [](const scheduler_counts& c) { return metric_seconds(c.busy); }},
    {{"leat_scheduler_turn_seconds", "gauge",
      "Age of the loop iteration in progress, while a warn_on_long_turns exists; 0 if no task "
      "runs."},
     [](const scheduler_counts& c) { return metric_seconds(c.turn); }},
    {{"leat_scheduler_longest_turn_seconds", "gauge",
      "The longest loop iteration, while a warn_on_long_turns existed."},
     [](const scheduler_counts& c) { return metric_seconds(c.longest_turn); }},
    {{"leat_scheduler_long_turns_total", "counter",
      "Loop iterations that have lasted for the threshold of a warn_on_long_turns."},
     [](const scheduler_counts& c) { return std::to_string(c.long_turns); }},
};

void append_schedulers(std::string& text) {
  std::vector<std::pair<std::size_t, scheduler_counts>> all;
  scheduler_records::each_counts([&](const scheduler_record& record, scheduler_counts counts) {
    watched_run::add_times(record, counts);
    all.emplace_back(record.number(), counts);
  });
  for (const scheduler_metric& m : of_schedulers) {
    std::string samples;
    for (const auto& [number, counts] : all) {
      samples.append(m.family.name).append("{scheduler=\"").append(std::to_string(number));
      samples.append("\"} ").append(m.value(counts)).append("\n");
    }
    append_family(text, m.family, samples);
  }
}

// The objects of one type, with the same families in the same order.
struct object_kind {
  metric_family count;
  std::vector<std::pair<std::string, const live_objects::totals*>> objects = {};  // by labels
};

void append_kind(std::string& text, const object_kind& kind) {
  std::string counts;
  std::vector<const metric_family*> families;
  for (const auto& [labels, totals] : kind.objects) {
    counts += sample_line(kind.count, labels, {totals->count});
    for (const metric_sample& s : totals->samples) {
      if (std::ranges::find(families, s.family) == families.end()) families.push_back(s.family);
    }
  }
  append_family(text, kind.count, counts);
  for (const metric_family* const family : families) {
    std::string samples;
    for (const auto& [labels, totals] : kind.objects) {
      const auto s = std::ranges::find(totals->samples, family, &metric_sample::family);
      if (s != totals->samples.end()) samples += sample_line(*family, labels, s->value);
    }
    append_family(text, *family, samples);
  }
}

void append_objects(std::string& text, const live_objects::totals_by_name& all) {
  object_kind queues{{"leat_queues", "gauge", "Queues of this name."}};
  object_kind pools{{"leat_blocking_pools", "gauge", "Blocking pools of this name."}};
  object_kind primitives{
      {"leat_primitives", "gauge", "Primitives of this name on which an operation has waited."}};
  for (const auto& [key, totals] : all) {
    const auto& [type, name] = key;
    const std::string label = name + "\"";
    if (type == "queue") {
      queues.objects.emplace_back("queue=\"" + label, &totals);
    } else if (type == "blocking pool") {
      pools.objects.emplace_back("pool=\"" + label, &totals);
    } else {
      primitives.objects.emplace_back("type=\"" + escaped_label(type) + "\",name=\"" + label,
                                      &totals);
    }
  }
  append_kind(text, queues);
  append_kind(text, pools);
  append_kind(text, primitives);
}

}  // namespace
}  // namespace detail

std::string metrics(time_span patience) {
  std::string text;
  const detail::live_objects::totals_by_name objects =
      detail::dump_collector::collect_metrics(patience);
  detail::append_schedulers(text);
  detail::append_objects(text, objects);
  return text;
}

}  // namespace LEAT
