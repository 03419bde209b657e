#include "leat/pipeline/metrics/prometheus_text.hpp"

#include <charconv>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "async/dump/internal/metric_sample.hpp"
#include "base/internal/unique_names.hpp"
#include "leat/pipeline/metrics/stage_fullness.hpp"
#include "leat/queue/queue_fullness.hpp"
#include "queue/internal/queue_metrics.hpp"

namespace LEAT {
namespace {

// ------------------------------------------------------------------------------------ the format

std::string to_text(std::uint64_t n) { return std::to_string(n); }

std::string ratio_text(float x) {
  char digits[32];
  return {digits, std::to_chars(digits, digits + sizeof digits, x).ptr};
}

// A stage or queue with the value of its label, which is unique among the stages or queues.
template <class Thing>
struct labelled {
  std::string label;
  Thing thing;
};

// A value that is not measured has no text, and no sample.
template <class Thing>
struct metric {
  const char* name;
  const char* type;
  const char* help;
  std::string (*value)(const Thing&);
};

// A metric with one sample of each stage or queue; empty if there are no samples.
template <class Thing>
void append(std::string& text, const char* label, const metric<Thing>& m,
            const std::vector<labelled<Thing>>& things) {
  std::string samples;
  for (const auto& [value, thing] : things) {
    const std::string sample = m.value(thing);
    if (sample.empty()) continue;
    samples += std::string(m.name) + "{" + label + "=\"" + value + "\"} " + sample + "\n";
  }
  if (samples.empty()) return;
  text += std::string("# HELP ") + m.name + " " + m.help + "\n";
  text += std::string("# TYPE ") + m.name + " " + m.type + "\n";
  text += samples;
}

// ----------------------------------------------------------------------------------- the metrics

// A stage at one point in time.
struct stage {
  const stage_metrics* metrics;
  std::optional<time_point> now;
};

constexpr metric<stage> of_stages[] = {
    {"leat_stage_tasks", "gauge", "Tasks that share the work of the stage.",
     [](const stage& s) { return to_text(s.metrics->tasks()); }},
    {"leat_stage_records_total", "counter", "Records that passed through the stage.",
     [](const stage& s) { return to_text(s.metrics->records()); }},
    {"leat_stage_bytes_total", "counter", "Bytes of these records.",
     [](const stage& s) {
       return s.metrics->knows_bytes() ? to_text(s.metrics->bytes()) : std::string();
     }},
    {"leat_stage_left_over_bytes_total", "counter",
     "Bytes of incomplete records at the ends of files, which were skipped.",
     [](const stage& s) { return to_text(s.metrics->left_over()); }},
    {"leat_stage_at_work_seconds_total", "counter",
     "Time during which tasks of the stage existed, waiting or not; the sum over all tasks.",
     [](const stage& s) {
       return s.metrics->knows_work_time() ? detail::metric_seconds(s.metrics->work_time(s.now))
                                           : std::string();
     }},
    {"leat_stage_input_wait_seconds_total", "counter",
     "Time during which tasks of the stage waited for input; the sum over all tasks.",
     [](const stage& s) { return detail::metric_seconds(s.metrics->waited_for_input(s.now)); }},
    {"leat_stage_room_wait_seconds_total", "counter",
     "Time during which tasks of the stage waited for free capacity in their output; the sum over "
     "all tasks.",
     [](const stage& s) {
       return s.metrics->knows_output_wait()
                  ? detail::metric_seconds(s.metrics->waited_for_output(s.now))
                  : std::string();
     }},
    {"leat_stage_held_items", "gauge",
     "Elements or blocks that the stage holds for the stages after it.",
     [](const stage& s) {
       return s.metrics->capacity() > 0 ? to_text(s.metrics->held()) : std::string();
     }},
    {"leat_stage_fullness_ratio", "gauge",
     "Fill level of the stage, from 0 to 1; near 0 if earlier stages are too slow.",
     [](const stage& s) {
       return s.metrics->capacity() > 0 ? ratio_text(stage_fullness(*s.metrics)->value)
                                        : std::string();
     }},
};

using queue = queue_statistics;

constexpr metric<queue> fill_level = {
    "leat_queue_fullness_ratio", "gauge",
    "Fill level above the minimum size, from 0 to 1; near 0 if the producers are too slow.",
    [](const queue& q) { return ratio_text(queue_fullness({}, q).value); }};

void append_queues(std::string& text, const std::vector<labelled<queue>>& queues,
                   const std::vector<labelled<queue>>& weighed) {
  append(text, "queue", fill_level, queues);
  for (const detail::queue_metric& m : detail::queue_metrics()) {
    std::string samples;
    for (const auto& [label, q] : m.is_of_weight ? weighed : queues) {
      samples += detail::sample_line(m.family, "queue=\"" + label + "\"", m.value(q));
    }
    detail::append_family(text, m.family, samples);
  }
}

}  // namespace

std::string prometheus_text(std::span<const stage_metrics* const> stages,
                            std::span<const queue_base* const> queues,
                            std::optional<time_point> now) {
  std::vector<labelled<stage>> stages_now;
  detail::unique_names stage_labels;
  for (const stage_metrics* s : stages)
    stages_now.push_back({stage_labels.of(detail::escaped_label(s->name())), {s, now}});

  std::vector<labelled<queue>> queues_now;
  std::vector<labelled<queue>> weighed;
  detail::unique_names queue_labels;
  for (const queue_base* q : queues) {
    queues_now.push_back({queue_labels.of(detail::escaped_label(q->name())), q->statistics()});
    if (queues_now.back().thing.weighed) weighed.push_back(queues_now.back());
  }

  std::string text;
  for (const auto& m : of_stages) append(text, "stage", m, stages_now);
  append_queues(text, queues_now, weighed);
  return text;
}

}  // namespace LEAT
