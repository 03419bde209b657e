#include "leat/pipeline/stage_metrics.hpp"

#include <algorithm>
#include <cmath>

namespace leat {
namespace {

double share(duration waited, const stage_metrics& stage, duration elapsed) noexcept {
  const auto tasks = static_cast<double>(std::max<std::uint64_t>(stage.tasks(), 1));
  const auto all = static_cast<double>(elapsed.count()) * tasks;
  return all > 0 ? std::min(1.0, static_cast<double>(waited.count()) / all) : 0;
}

std::string percent(double x) { return std::to_string(std::lround(100 * x)) + " %"; }

}  // namespace

std::string verdict(std::span<const stage_metrics* const> stages, duration elapsed) {
  const stage_metrics* busiest = nullptr;
  double least = 2;
  for (const stage_metrics* s : stages) {
    const double waits =
        share(s->waited_for_input(), *s, elapsed) + share(s->waited_for_room(), *s, elapsed);
    if (waits < least) {
      least = waits;
      busiest = s;
    }
  }
  if (!busiest) return "There is no stage to judge.";
  std::string text = "The bottleneck is '" + busiest->name() + "': its tasks waited " +
                     percent(least) + " of the time";
  const stage_metrics* const last = stages.back();
  if (busiest != last) {
    text += ", while '" + last->name() + "' waited " +
            percent(share(last->waited_for_input(), *last, elapsed)) + " for input";
  } else if (stages.size() > 1) {
    const stage_metrics* const before = stages[stages.size() - 2];
    text += ", while '" + before->name() + "' waited " +
            percent(share(before->waited_for_room(), *before, elapsed)) + " for room";
  }
  return text + ".";
}

}  // namespace leat
