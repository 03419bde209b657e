#include "leat/pipeline/metrics/stage_metrics.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

namespace LEAT {
namespace {

constexpr double half = 0.5;
constexpr double busy_margin = 0.1;
constexpr double dominant_share = 2.0 / 3;

// The activities of the tasks of a stage, as shares of their time.
struct shares {
  const std::string* name;
  double input;  // waiting for it
  double room;
  double busy;
  double tasks;
  bool silent;  // nothing has happened in it as far as is known
};

shares shares_of(const stage_metrics& s, duration elapsed, std::optional<time_point> now) {
  const auto tasks = static_cast<double>(std::max<std::uint64_t>(s.tasks(), 1));
  const double all = static_cast<double>(elapsed.count()) * tasks;
  const auto share = [all](duration d) {
    return std::min(1.0, static_cast<double>(d.count()) / all);
  };
  const bool known = s.knows_work_time();
  const double input = share(s.waited_for_input(now));
  const double room = share(s.waited_for_output(now));
  const double at_work = known ? share(s.work_time(now)) : 1;
  return {.name = &s.name(),
          .input = input,
          .room = room,
          .busy = std::max(0.0, at_work - input - room),
          .tasks = tasks,
          .silent = s.records() == 0 && input == 0 && room == 0 && !known};
}

std::string percent(double x) { return std::to_string(std::lround(100 * x)) + " %"; }
std::string quoted(const shares& s) { return "'" + *s.name + "'"; }

// "a, b and c"
template <class Part>
std::string listed(const std::vector<shares>& all, Part part) {
  std::string text;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (i > 0) text += i + 1 == all.size() ? " and " : ", ";
    text += part(all[i]);
  }
  return text;
}

// The waits of the neighbours because of stage `i`; empty if they did not wait.
std::string describe_waits(const std::vector<shares>& all, std::size_t i) {
  constexpr double min_reported_share = 0.01;
  std::string text;
  if (i > 0 && all[i - 1].room >= min_reported_share) {
    text += ", while " + quoted(all[i - 1]) + " waited " + percent(all[i - 1].room) +
            " for free capacity";
  }
  if (i + 1 < all.size() && all[i + 1].input >= min_reported_share) {
    text += text.empty() ? ", while " : " and ";
    text += quoted(all[i + 1]) + " waited " + percent(all[i + 1].input) + " for input";
  }
  return text;
}

std::string single_bottleneck(const std::vector<shares>& all, std::size_t i) {
  return "The bottleneck is " + quoted(all[i]) + ": its tasks were busy " + percent(all[i].busy) +
         " of the time" + describe_waits(all, i) + ".";
}

double work_of(const std::vector<shares>& all) {
  double work = 0;
  for (const shares& s : all) work += s.busy * s.tasks;
  return work;
}

// Tasks that share a thread with the tasks they wait for only seem to wait for them; no wait shows
// which of the two it is. Null if no stage dominates.
const shares* dominant_stage(const std::vector<shares>& all) {
  const double enough = dominant_share * work_of(all);
  const auto does = [enough](const shares& s) { return enough > 0 && s.busy * s.tasks >= enough; };
  const auto it = std::find_if(all.begin(), all.end(), does);
  return it == all.end() ? nullptr : &*it;
}

// Tasks that compute on one thread are busy alternately. Then the waits of the others show the
// bottleneck: all later stages wait for input, and all earlier ones for free capacity.
std::string none_busy(const std::vector<shares>& all, const shares& busiest) {
  const shares& first = all.front();
  const shares& last = all.back();
  if (first.input >= half) {
    return "The bottleneck is the input of " + quoted(first) + ", which waited " +
           percent(first.input) + " of the time for it.";
  }
  if (last.room >= half) {
    return "The bottleneck is the consumer of " + quoted(last) + ", which waited " +
           percent(last.room) + " of the time for free capacity.";
  }
  std::size_t last_busy = all.size() - 1;
  while (all[last_busy].input >= half) --last_busy;  // not beyond the first stage, see above
  std::size_t first_busy = 0;
  while (all[first_busy].room >= half) ++first_busy;  // not beyond the last stage
  const shares* const s = dominant_stage(all);
  const bool told = first_busy == last_busy && all.size() > 1;
  if (told && (!s || s == &all[first_busy])) return single_bottleneck(all, first_busy);
  if (s) {
    return "The bottleneck is " + quoted(*s) + ": its tasks were busy " +
           percent(s->busy * s->tasks / work_of(all)) +
           " of the time that any task was, and waited for a thread; more threads let them work at "
           "the same time.";
  }
  return "No stage is the bottleneck: " + quoted(busiest) + ", the busiest, was busy " +
         percent(busiest.busy) + " of the time; larger queues let stages work at the same time.";
}

std::string many_busy(const std::vector<shares>& those, bool all) {
  const std::string names = listed(those, quoted);
  return (all ? "The pipeline is balanced: the tasks of " + names
              : "The bottlenecks are " + names + ": their tasks") +
         " were busy " + listed(those, [](const shares& s) { return percent(s.busy); }) +
         " of the time.";
}

}  // namespace

duration detail::span_clock::total(std::optional<time_point> now) const noexcept {
  const thread_lock lock(mutex_);
  if (!now) return ended_;
  const std::uint64_t lasting = open_ * ticks(now->time_since_epoch()) - begins_;
  return ended_ + std::max(duration(static_cast<duration::rep>(lasting)), duration(0));
}

duration stage_metrics::waited_for_input(std::optional<time_point> now) const noexcept {
  return input_.total(now);
}
duration stage_metrics::waited_for_output(std::optional<time_point> now) const noexcept {
  return output_.total(now);
}
duration stage_metrics::work_time(std::optional<time_point> now) const noexcept {
  return work_.total(now);
}

std::string describe_bottleneck(std::span<const stage_metrics* const> stages, duration elapsed,
                                std::optional<time_point> now) {
  if (stages.empty()) return "No stages to compare.";
  std::vector<shares> all;
  if (elapsed > duration(0)) {
    for (const stage_metrics* s : stages) all.push_back(shares_of(*s, elapsed, now));
  }
  const auto is_silent = [](const shares& s) { return s.silent; };
  if (std::all_of(all.begin(), all.end(), is_silent)) {
    return "Nothing has run yet: no stage has received or awaited a record.";
  }
  const auto silent = std::find_if(all.begin(), all.end(), is_silent);
  if (silent != all.end()) {
    return "The bottleneck is " + quoted(*silent) + ": no record has passed through it.";
  }
  const auto less_busy = [](const shares& a, const shares& b) { return a.busy < b.busy; };
  const auto busiest = std::max_element(all.begin(), all.end(), less_busy);
  if (busiest->busy < half) return none_busy(all, *busiest);
  std::vector<shares> busy;
  for (const shares& s : all) {
    if (s.busy >= busiest->busy - busy_margin) busy.push_back(s);
  }
  if (busy.size() > 1) return many_busy(busy, busy.size() == all.size());
  return single_bottleneck(all, static_cast<std::size_t>(busiest - all.begin()));
}

}  // namespace LEAT
