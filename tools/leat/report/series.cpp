#include "report/series.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <utility>

#include <fmt/format.h>

namespace tool {
namespace {

// Fewer values have no percentiles that would leave out anything.
constexpr std::size_t least_for_percentiles = 20;

}  // namespace

void range::cover(double v) noexcept {
  if (!std::isfinite(v)) return;
  low = std::min(low, v);
  high = std::max(high, v);
}

void range::widen() noexcept {
  if (low > high) {
    low = 0;
    high = 1;
  } else if (low == high) {
    const double by = low == 0 ? 1 : std::abs(low) / 10;
    low -= by;
    high += by;
  }
}

spread compute_spread(const std::vector<sample>& samples) {
  std::vector<double> values;
  values.reserve(samples.size());
  for (const sample& s : samples) {
    if (std::isfinite(s.value)) values.push_back(s.value);
  }
  spread of;
  if (values.empty()) return of;
  std::ranges::sort(values);
  of.all = {values.front(), values.back()};
  const std::size_t left_out = values.size() < least_for_percentiles ? 0 : values.size() / 100 + 1;
  of.most = {values[left_out], values[values.size() - 1 - left_out]};
  return of;
}

std::string number_text(double value) {
  if (value == 0) return "0";  // and not -0
  return fmt::format("{:.4g}", value);
}

std::string step_text(double step) {
  constexpr std::array<std::pair<double, char>, 4> units{
      {{1e12, 'T'}, {1e9, 'G'}, {1e6, 'M'}, {1e3, 'k'}}};
  if (std::abs(step) >= 1e15) return number_text(step);
  if (std::abs(step) >= 1e4) {
    for (const auto& [size, letter] : units) {
      if (std::abs(step) >= size) return fmt::format("{:.6g}{}", step / size, letter);
    }
  }
  return fmt::format("{:.6g}", step == 0 ? 0 : step);
}

std::vector<double> ticks(double low, double high, int count) {
  std::vector<double> at;
  const double span = high / 2 - low / 2;
  if (!(span > 0) || !std::isfinite(span)) return at;
  const double rough = span / count * 2;
  const double power = std::pow(10, std::floor(std::log10(rough)));
  if (!(power > 0)) return at;  // the span is too small for a number
  double step = power * 10;
  for (const double factor : {1.0, 2.0, 5.0}) {
    if (power * factor >= rough) {
      step = power * factor;
      break;
    }
  }
  const double first = std::ceil(low / step);
  const double last = std::floor(high / step);
  // Numbers so large that a step is lost in rounding have no round ones between them.
  if (!(last - first < 100)) return at;
  for (double k = first; k <= last; k += 1) {
    at.push_back(k * step);
    if (k + 1 == k) break;
  }
  return at;
}

std::vector<double> log_ticks(double low, double high, int count) {
  std::vector<double> at;
  const double first = std::ceil(low);
  const double decades = std::floor(high) - first + 1;
  if (decades >= 3) {
    const double stride = std::ceil(decades / (count + 1));
    for (double e = first; e <= high; e += stride) at.push_back(e);
    return at;
  }
  for (double e = std::floor(low); e <= high; e += 1) {
    for (const double factor : {1.0, 2.0, 5.0}) {
      const double tick = e + std::log10(factor);
      if (tick >= low && tick <= high) at.push_back(tick);
    }
  }
  if (at.size() >= 3) return at;
  at = ticks(std::pow(10, low), std::pow(10, high), count);
  std::erase_if(at, [](double v) { return v <= 0; });
  for (double& v : at) v = std::log10(v);
  return at;
}

std::vector<sample> thinned(const std::vector<sample>& samples, std::size_t count) {
  if (samples.size() <= count || count < 4) return samples;
  std::vector<sample> some{samples.front()};
  const std::size_t stretches = (count - 2) / 2;
  const std::size_t inner = samples.size() - 2;
  for (std::size_t s = 0; s < stretches; ++s) {
    const std::size_t begin = 1 + s * inner / stretches;
    const std::size_t end = 1 + (s + 1) * inner / stretches;
    std::optional<std::size_t> low;
    std::optional<std::size_t> high;
    for (std::size_t i = begin; i < end; ++i) {
      if (!std::isfinite(samples[i].value)) continue;
      if (!low || samples[i].value < samples[*low].value) low = i;
      if (!high || samples[i].value > samples[*high].value) high = i;
    }
    if (!low) {
      some.push_back(samples[begin]);  // a gap
      continue;
    }
    some.push_back(samples[std::min(*low, *high)]);
    if (*low != *high) some.push_back(samples[std::max(*low, *high)]);
  }
  some.push_back(samples.back());
  return some;
}

std::vector<sample> smoothed(std::vector<sample> samples, double weight, bool log) {
  double average = 0;
  double missing = 1;  // share of the average that is still its beginning, 0
  for (sample& s : samples) {
    if (!std::isfinite(s.value)) continue;
    average = weight * average + (1 - weight) * (log ? std::log10(s.value) : s.value);
    missing *= weight;
    const double corrected = average / (1 - missing);
    s.value = log ? std::pow(10, corrected) : corrected;
  }
  return samples;
}

}  // namespace tool
