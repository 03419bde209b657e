#include "chart.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include <fmt/format.h>

#include "text.hpp"

namespace tool {
namespace {

// The drawing, in units of its own.
constexpr double width = 640;
constexpr double height = 280;
constexpr double left = 64;
constexpr double right = 12;
constexpr double top = 10;
constexpr double bottom = 36;

// What the chart shows, from end to end.
struct range {
  double low = std::numeric_limits<double>::infinity();
  double high = -std::numeric_limits<double>::infinity();

  void cover(double v) noexcept {
    if (!std::isfinite(v)) return;
    low = std::min(low, v);
    high = std::max(high, v);
  }
  // Of one value, or none, still a range.
  void widen() noexcept {
    if (low > high) {
      low = 0;
      high = 1;
    } else if (low == high) {
      const double by = low == 0 ? 1 : std::abs(low) / 10;
      low -= by;
      high += by;
    }
  }
};

// One outlier would flatten everything else: curves whose full range is more than this many times
// the range of most values are clipped to the latter.
constexpr double most_stretch = 8;

class drawing {
 public:
  explicit drawing(const chart& c) : chart_(c) {
    for (const curve& line : c.curves) {
      for (const point& p : line.points) cover(p.x, p.y);
    }
    for (const band& b : c.bands) {
      for (const band::slice& s : b.slices) {
        cover(s.x, s.low);
        cover(s.x, s.high);
      }
    }
    clip();
    x_.widen();
    y_.widen();
  }

  std::string text() {
    out_ = fmt::format(
        "<svg viewBox=\"0 0 {} {}\" role=\"img\" preserveAspectRatio=\"xMidYMid meet\">\n"
        "<title>{}</title><desc>{}</desc>\n",
        width, height, html_escaped(chart_.title), html_escaped(chart_.description));
    draw_axes();
    for (const band& b : chart_.bands) draw(b);
    for (const curve& c : chart_.curves) draw(c);
    out_ += "</svg>\n";
    if (clipped_ > 0) {
      out_ += fmt::format(
          "<p class=\"note\">Clipped to the percentiles 1 to 99: {} outside, full range {} to "
          "{}.</p>\n",
          count_text(clipped_, "drawn point"), label(full_.low), label(full_.high));
    }
    return out_;
  }

 private:
  // Clips the y axis to the percentiles 1 to 99 if the rest would be flat.
  void clip() {
    std::vector<double> values;
    for (const curve& c : chart_.curves) {
      for (const point& p : c.points) {
        if (is_finite(p)) values.push_back(p.y);
      }
    }
    full_ = y_;
    if (!chart_.bands.empty() || values.size() < 20) return;
    std::ranges::sort(values);
    range most;
    most.cover(values[values.size() / 100 + 1]);
    most.cover(values[values.size() - 2 - values.size() / 100]);
    const double margin = (most.high / 2 - most.low / 2) / 5;
    if (!(margin > 0) || full_.high / 2 - full_.low / 2 <= most_stretch * margin * 5) return;
    y_.low = std::max(full_.low, most.low - margin);
    y_.high = std::min(full_.high, most.high + margin);
    clipped_ = static_cast<std::size_t>(
        std::ranges::count_if(values, [this](double v) { return v < y_.low || v > y_.high; }));
  }

  [[nodiscard]] std::string label(double v) const {
    return number_text(chart_.log_y ? std::pow(10, v) : v);
  }

  void cover(double x, double y) noexcept {
    if (!std::isfinite(x) || !std::isfinite(y)) return;
    x_.cover(x);
    y_.cover(y);
  }
  // Halves first: the span of all doubles is more than the largest one.
  static double share(double v, const range& r) noexcept {
    return (v / 2 - r.low / 2) / (r.high / 2 - r.low / 2);
  }
  [[nodiscard]] double x(double v) const noexcept {
    return left + share(v, x_) * (width - left - right);
  }
  [[nodiscard]] double y(double v) const noexcept {
    return height - bottom - share(std::clamp(v, y_.low, y_.high), y_) * (height - top - bottom);
  }

  void draw_axes() {
    out_ += "<g class=\"axes\">\n";
    for (const double v : ticks(x_.low, x_.high, 7)) {
      out_ += fmt::format(
          "<line x1=\"{0:.1f}\" y1=\"{1}\" x2=\"{0:.1f}\" y2=\"{2}\"/>"
          "<text class=\"x\" x=\"{0:.1f}\" y=\"{3}\">{4}</text>\n",
          x(v), top, height - bottom, height - bottom + 18, number_text(v));
    }
    for (const double v : ticks(y_.low, y_.high, 5)) {
      out_ += fmt::format(
          "<line x1=\"{1}\" y1=\"{0:.1f}\" x2=\"{2}\" y2=\"{0:.1f}\"/>"
          "<text class=\"y\" x=\"{3}\" y=\"{4:.1f}\">{5}</text>\n",
          y(v), left, width - right, left - 6, y(v) + 4, label(v));
    }
    out_ += fmt::format(
        "<text class=\"x\" x=\"{:.1f}\" y=\"{}\">step</text>\n"
        "<text class=\"x\" transform=\"rotate(-90 10 {:.1f})\" x=\"10\" y=\"{:.1f}\">{}</text>\n",
        (left + width - right) / 2, height - 2, (height - bottom) / 2, (height - bottom) / 2,
        chart_.log_y ? "value (log)" : "value");
    out_ += "</g>\n";
  }

  // A line for each stretch without a gap; a stretch of one point is a dot.
  void draw(const curve& c) {
    const bool covers_another = std::ranges::any_of(chart_.curves, [&](const curve& other) {
      return &other < &c && other.faint == c.faint && same_points(other, c);
    });
    const std::string look =
        fmt::format("c{}{}{}", c.color, c.faint ? " faint" : "", covers_another ? " over" : "");
    for (std::size_t i = 0; i < c.points.size();) {
      std::size_t end = i;
      while (end < c.points.size() && is_finite(c.points[end])) ++end;
      if (end - i == 1) {
        out_ += fmt::format("<circle class=\"dot {}\" cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"3\"/>\n",
                            look, x(c.points[i].x), y(c.points[i].y));
      } else if (end > i) {
        out_ += fmt::format("<polyline class=\"curve {}\" points=\"", look);
        for (std::size_t k = i; k < end; ++k) add_point(c.points[k].x, c.points[k].y, k > i);
        out_ += "\"/>\n";
      }
      i = std::max(end, i + 1);
    }
  }

  void draw(const band& b) {
    if (b.slices.empty()) return;
    out_ += fmt::format("<polygon class=\"band c{}\" points=\"", b.color);
    for (std::size_t i = 0; i < b.slices.size(); ++i) {
      add_point(b.slices[i].x, b.slices[i].high, i > 0);
    }
    for (auto s = b.slices.rbegin(); s != b.slices.rend(); ++s) add_point(s->x, s->low, true);
    out_ += "\"/>\n";
  }

  void add_point(double px, double py, bool more) {
    out_ += fmt::format("{}{:.1f},{:.1f}", more ? " " : "", x(px), y(py));
  }

  static bool is_finite(const point& p) noexcept {
    return std::isfinite(p.x) && std::isfinite(p.y);
  }

  static bool same_points(const curve& a, const curve& b) noexcept {
    return std::ranges::equal(a.points, b.points, [](const point& p, const point& q) {
      return p.x == q.x && (p.y == q.y || (std::isnan(p.y) && std::isnan(q.y)));
    });
  }

  const chart& chart_;
  range x_;
  range y_;
  range full_;               // of y, before it is clipped
  std::size_t clipped_ = 0;  // points beyond the clipped range
  std::string out_;
};

}  // namespace

std::string html_escaped(std::string_view text) {
  const std::string harmless = escaped(text);  // no control characters, valid UTF-8
  std::string out;
  for (const char c : harmless) {
    switch (c) {
      case '&': out += "&amp;"; break;
      case '<': out += "&lt;"; break;
      case '>': out += "&gt;"; break;
      case '"': out += "&quot;"; break;
      case '\'': out += "&#39;"; break;
      default: out += c;
    }
  }
  return out;
}

std::string number_text(double value) {
  if (value == 0) return "0";  // and not -0
  return fmt::format("{:.4g}", value);
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

std::vector<point> thinned(const std::vector<point>& points, std::size_t count) {
  if (points.size() <= count || count < 4) return points;
  std::vector<point> some{points.front()};
  const std::size_t stretches = (count - 2) / 2;
  const std::size_t inner = points.size() - 2;
  for (std::size_t s = 0; s < stretches; ++s) {
    const std::size_t begin = 1 + s * inner / stretches;
    const std::size_t end = 1 + (s + 1) * inner / stretches;
    std::optional<std::size_t> low;
    std::optional<std::size_t> high;
    for (std::size_t i = begin; i < end; ++i) {
      if (!std::isfinite(points[i].y)) continue;
      if (!low || points[i].y < points[*low].y) low = i;
      if (!high || points[i].y > points[*high].y) high = i;
    }
    if (!low) {
      some.push_back(points[begin]);  // a gap
      continue;
    }
    some.push_back(points[std::min(*low, *high)]);
    if (*low != *high) some.push_back(points[std::max(*low, *high)]);
  }
  some.push_back(points.back());
  return some;
}

std::vector<point> smoothed(const std::vector<point>& points, double weight) {
  std::vector<point> smooth = points;
  double average = 0;
  double missing = 1;  // share of the average that is still its beginning, 0
  for (point& p : smooth) {
    if (!std::isfinite(p.y)) continue;
    average = weight * average + (1 - weight) * p.y;
    missing *= weight;
    p.y = average / (1 - missing);
  }
  return smooth;
}

bool chart::has_points() const noexcept {
  return std::ranges::any_of(bands, [](const band& b) { return !b.slices.empty(); }) ||
         std::ranges::any_of(curves, [](const curve& c) {
           return std::ranges::any_of(
               c.points, [](const point& p) { return std::isfinite(p.x) && std::isfinite(p.y); });
         });
}

std::string chart::svg() const { return drawing(*this).text(); }

}  // namespace tool
