#include "leat/pipeline/metrics/prometheus_text.hpp"

#include <charconv>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "base/internal/unique_names.hpp"
#include "base/text/utf8.hpp"
#include "leat/pipeline/metrics/stage_fullness.hpp"
#include "leat/queue/queue_fullness.hpp"

namespace LEAT {
namespace {

// ------------------------------------------------------------------------------------ the format

std::string to_text(std::uint64_t n) { return std::to_string(n); }

std::string limit_text(std::size_t n) { return n == unbounded ? "+Inf" : to_text(n); }

std::string seconds_text(duration d) {
  const auto ns = std::chrono::duration_cast<std::chrono::nanoseconds>(d).count();
  const std::string fraction = std::to_string(1'000'000'000 + ns % 1'000'000'000);
  return std::to_string(ns / 1'000'000'000) + "." + fraction.substr(1);
}

std::string ratio_text(float x) {
  char digits[32];
  return {digits, std::to_chars(digits, digits + sizeof digits, x).ptr};
}

// The value of a label between its quotes. A reader would reject invalid UTF-8.
std::string escaped(std::string_view value) {
  const bool is_text = detail::is_utf8(value);
  std::string text;
  for (const char c : value) {
    if (c == '\\' || c == '"') {
      text += {'\\', c};
    } else if (c == '\n') {
      text += "\\n";
    } else if (!is_text && static_cast<unsigned char>(c) >= 0x80) {
      text += '?';
    } else {
      text += c;
    }
  }
  return text;
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
       return s.metrics->knows_work_time() ? seconds_text(s.metrics->work_time(s.now))
                                           : std::string();
     }},
    {"leat_stage_input_wait_seconds_total", "counter",
     "Time during which tasks of the stage waited for input; the sum over all tasks.",
     [](const stage& s) { return seconds_text(s.metrics->waited_for_input(s.now)); }},
    {"leat_stage_room_wait_seconds_total", "counter",
     "Time during which tasks of the stage waited for free capacity in their output; the sum over "
     "all tasks.",
     [](const stage& s) {
       return s.metrics->knows_output_wait() ? seconds_text(s.metrics->waited_for_output(s.now))
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

constexpr metric<queue> of_queues[] = {
    {"leat_queue_items", "gauge", "Items in the queue.",
     [](const queue& q) { return to_text(q.size); }},
    {"leat_queue_capacity_items", "gauge", "Capacity of the queue, in items.",
     [](const queue& q) { return limit_text(q.capacity); }},
    {"leat_queue_min_items", "gauge", "Minimum size of the queue while it is open, in items.",
     [](const queue& q) { return to_text(q.min_after_dequeue); }},
    {"leat_queue_peak_items", "gauge", "Largest number of items in the queue so far.",
     [](const queue& q) { return to_text(q.peak_size); }},
    {"leat_queue_fullness_ratio", "gauge",
     "Fill level above the minimum size, from 0 to 1; near 0 if the producers are too slow.",
     [](const queue& q) { return ratio_text(queue_fullness({}, q).value); }},
    {"leat_queue_closed", "gauge", "1 if the queue is closed, otherwise 0.",
     [](const queue& q) { return to_text(q.closed ? 1 : 0); }},
    {"leat_queue_waiting_pushes", "gauge", "Operations that wait for free capacity.",
     [](const queue& q) { return to_text(q.waiting_pushes); }},
    {"leat_queue_waiting_pops", "gauge", "Operations that wait for items.",
     [](const queue& q) { return to_text(q.waiting_pops); }},
    {"leat_queue_pushed_items_total", "counter", "Items that were added.",
     [](const queue& q) { return to_text(q.pushed); }},
    // Added items that are not there. The count in the statistics falls when items are returned.
    {"leat_queue_taken_items_total", "counter",
     "Items that were removed; a returned item counts again when it is removed again.",
     [](const queue& q) { return to_text(q.pushed + q.returned - q.size); }},
    {"leat_queue_returned_items_total", "counter",
     "Items that were removed for a batch that was not completed, and were returned.",
     [](const queue& q) { return to_text(q.returned); }},
    {"leat_queue_push_waits_total", "counter", "Operations that had to wait for free capacity.",
     [](const queue& q) { return to_text(q.push_waits); }},
    {"leat_queue_pop_waits_total", "counter", "Operations that had to wait for items.",
     [](const queue& q) { return to_text(q.pop_waits); }},
    {"leat_queue_refused_items_total", "counter",
     "Items that were not added because the queue was closed or had failed.",
     [](const queue& q) { return to_text(q.refused); }},
};

constexpr metric<queue> of_weighed_queues[] = {
    {"leat_queue_weight", "gauge", "Weight of the items in the queue.",
     [](const queue& q) { return to_text(q.weight); }},
    {"leat_queue_max_weight", "gauge", "Maximum weight of the queue.",
     [](const queue& q) { return limit_text(q.max_weight); }},
    {"leat_queue_peak_weight", "gauge", "Largest weight of the items in the queue so far.",
     [](const queue& q) { return to_text(q.peak_weight); }},
};

}  // namespace

std::string prometheus_text(std::span<const stage_metrics* const> stages,
                            std::span<const queue_base* const> queues,
                            std::optional<time_point> now) {
  std::vector<labelled<stage>> stages_now;
  detail::unique_names stage_labels;
  for (const stage_metrics* s : stages)
    stages_now.push_back({stage_labels.of(escaped(s->name())), {s, now}});

  std::vector<labelled<queue>> queues_now;
  std::vector<labelled<queue>> weighed;
  detail::unique_names queue_labels;
  for (const queue_base* q : queues) {
    queues_now.push_back({queue_labels.of(escaped(q->name())), q->statistics()});
    if (queues_now.back().thing.weighed) weighed.push_back(queues_now.back());
  }

  std::string text;
  for (const auto& m : of_stages) append(text, "stage", m, stages_now);
  for (const auto& m : of_queues) append(text, "queue", m, queues_now);
  for (const auto& m : of_weighed_queues) append(text, "queue", m, weighed);
  return text;
}

}  // namespace LEAT
