#include "report/chart.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "terminal/text.hpp"

namespace tool {
namespace {

// The drawing without a script, in units of the SVG element.
constexpr double width = 440;
constexpr double height = 230;
constexpr double left = 62;
constexpr double right = 14;
constexpr double top = 24;
constexpr double bottom = 38;

// An axis is clipped if its full range is more than this many times the range between the
// percentiles of all runs, because an outlier would otherwise flatten the curves.
constexpr double max_stretch = 8;

// Length of a dash of overlapping curves.
constexpr int dash = 8;

// Marks of clipped values with a smaller distance are merged.
constexpr double mark_distance = 9;

bool is_finite(const sample& s) noexcept { return std::isfinite(s.value); }

bool is_shown(curve::kind what, bool log) noexcept {
  return what != (log ? curve::kind::smooth_linear : curve::kind::smooth_log);
}

bool is_smooth(curve::kind what) noexcept {
  return what == curve::kind::smooth_linear || what == curve::kind::smooth_log;
}

// The vertical axis: linear, or of logarithms to base 10.
struct value_axis {
  bool log = false;
  range shown;
  range full;            // before it was clipped
  bool clipped = false;  // some values are outside

  [[nodiscard]] double to_axis(double value) const noexcept {
    return log ? std::log10(value) : value;
  }
  [[nodiscard]] bool is_outside(double value) const noexcept {
    return to_axis(value) < shown.low || to_axis(value) > shown.high;
  }
  [[nodiscard]] std::string label(double at) const {
    return number_text(log ? std::pow(10, at) : at);
  }
};

// The range of the values that are no farther from `most` than half of its width.
range without_outliers(const chart& c, const value_axis& axis, const range& most) {
  range inside;
  for (const curve& line : c.curves) {
    for (const sample& s : line.samples) {
      const double at = axis.to_axis(s.value);
      if (at >= most.low - most.half_width() && at <= most.high + most.half_width()) {
        inside.cover(at);
      }
    }
  }
  return inside;
}

value_axis make_axis(const chart& c, const std::vector<spread>& spreads, bool log) {
  value_axis axis;
  axis.log = log;
  range most;
  bool has_bands = false;
  for (const spread& s : spreads) {
    for (const double v : {s.all.low, s.all.high}) axis.full.cover(axis.to_axis(v));
    for (const double v : {s.most.low, s.most.high}) most.cover(axis.to_axis(v));
  }
  for (const curve& line : c.curves) {
    for (const curve::band& b : line.bands) {
      has_bands = true;
      for (const auto& [low, high] : b) {
        axis.full.cover(low);
        axis.full.cover(high);
      }
    }
  }
  axis.shown = axis.full;
  if (!has_bands && most.half_width() > 0 &&
      axis.full.half_width() > max_stretch * most.half_width()) {
    axis.clipped = true;
    axis.shown = without_outliers(c, axis, most);
  }
  axis.shown.widen();
  return axis;
}

std::string axis_attribute(std::string_view name, const value_axis& axis) {
  return fmt::format(" data-{}=\"{:.9g} {:.9g}\"", name, axis.shown.low, axis.shown.high);
}

// Counts the values outside of a clipped axis, for each run.
std::string clip_note(const chart& c, const value_axis& axis, bool shown) {
  if (!axis.clipped) return {};
  std::vector<std::string> counts;
  for (const curve& line : c.curves) {
    if (is_smooth(line.what)) continue;
    const auto outside = static_cast<std::size_t>(std::ranges::count_if(
        line.samples, [&](const sample& s) { return is_finite(s) && axis.is_outside(s.value); }));
    if (outside == 0) continue;
    counts.push_back(fmt::format("{} of {} in {}", outside,
                                 count_text(line.samples.size(), "value"), line.name));
  }
  return fmt::format(
      "<p class=\"note clipped {}{}\">Clipped, outside: {}. Full range: {} to {}.</p>\n",
      axis.log ? "log" : "linear", shown ? "" : " off",
      escape_html(fmt::format("{}", fmt::join(counts, ", "))), axis.label(axis.full.low),
      axis.label(axis.full.high));
}

// Numbers of an attribute.
template <class Get>
std::string attribute(std::string_view name, const std::vector<sample>& samples, Get get) {
  std::string text = fmt::format(" data-{}=\"", name);
  for (std::size_t i = 0; i < samples.size(); ++i) {
    if (i > 0) text += ' ';
    text += get(samples[i]);
  }
  return text + '"';
}

std::string_view name_of(curve::kind what) noexcept {
  switch (what) {
    case curve::kind::plain: return "plain";
    case curve::kind::faint: return "faint";
    case curve::kind::smooth_linear: return "linear";
    case curve::kind::smooth_log: return "log";
  }
  return {};
}

class drawing {
 public:
  explicit drawing(const chart& c) : chart_(c), can_be_log_(c.can_be_logarithmic()) {
    for (const curve& line : c.curves) {
      spreads_.push_back(is_smooth(line.what) ? spread() : compute_spread(line.samples));
      for (const sample& s : line.samples) {
        if (is_finite(s)) x_.cover(static_cast<double>(s.step));
      }
    }
    x_.widen();
    linear_ = make_axis(c, spreads_, false);
    if (can_be_log_) log_ = make_axis(c, spreads_, true);
    y_ = is_log() ? log_ : linear_;
  }

  std::string text() {
    out_ = fmt::format(
        "<svg viewBox=\"0 0 {} {}\" role=\"img\" preserveAspectRatio=\"xMidYMid meet\"{}{}>\n"
        "<title>{}</title><desc>{}</desc>\n",
        width, height, axis_attribute("linear", linear_),
        can_be_log_ ? axis_attribute("log", log_) : "", escape_html(chart_.title),
        escape_html(chart_.description));
    draw_axes();
    std::vector<std::string> lines;
    std::vector<std::vector<sample>> drawn;
    for (const curve& c : chart_.curves) {
      drawn.push_back(c.bands.empty() ? thinned(c.samples, chart_.max_points) : c.samples);
      lines.push_back(is_shown(c.what, is_log()) ? line_text(drawn.back()) : std::string());
    }
    for (std::size_t i = 0; i < chart_.curves.size(); ++i) draw(i, drawn[i], lines);
    out_ += "</svg>\n" + clip_note(chart_, linear_, !is_log());
    if (can_be_log_) out_ += clip_note(chart_, log_, is_log());
    return std::move(out_);
  }

 private:
  [[nodiscard]] bool is_log() const noexcept { return chart_.log && can_be_log_; }

  // Halves first: the span of all doubles is more than the largest one.
  static double share(double v, const range& r) noexcept {
    return (v / 2 - r.low / 2) / r.half_width();
  }
  [[nodiscard]] double x(double v) const noexcept {
    return left + share(v, x_) * (width - left - right);
  }
  [[nodiscard]] double x(const sample& s) const noexcept { return x(static_cast<double>(s.step)); }
  // Of a place on the axis; outside of it at its end.
  [[nodiscard]] double y_at(double v) const noexcept {
    return height - bottom -
           share(std::clamp(v, y_.shown.low, y_.shown.high), y_.shown) * (height - top - bottom);
  }
  [[nodiscard]] double y(double value) const noexcept { return y_at(y_.to_axis(value)); }

  void draw_axes() {
    out_ += "<g class=\"axes\">\n";
    for (const double v : ticks(x_.low, x_.high, 5)) {
      out_ += fmt::format(
          "<line x1=\"{0:.1f}\" y1=\"{1}\" x2=\"{0:.1f}\" y2=\"{2}\"/>"
          "<text class=\"x\" x=\"{0:.1f}\" y=\"{3}\">{4}</text>\n",
          x(v), top, height - bottom, height - bottom + 17, step_text(v));
    }
    for (const double v : y_.log ? log_ticks(y_.shown.low, y_.shown.high, 5)
                                 : ticks(y_.shown.low, y_.shown.high, 5)) {
      out_ += fmt::format(
          "<line x1=\"{1}\" y1=\"{0:.1f}\" x2=\"{2}\" y2=\"{0:.1f}\"/>"
          "<text class=\"y\" x=\"{3}\" y=\"{4:.1f}\">{5}</text>\n",
          y_at(v), left, width - right, left - 6, y_at(v) + 4, y_.label(v));
    }
    out_ += fmt::format(
        "<text class=\"x name\" x=\"{:.1f}\" y=\"{}\">step</text>\n"
        "<text class=\"title\" x=\"2\" y=\"13\">{}</text>\n</g>\n",
        (left + width - right) / 2, height - 4, y_.log ? "value (log)" : "value");
  }

  // A group with the samples of a curve, and their drawing.
  void draw(std::size_t i, const std::vector<sample>& samples,
            const std::vector<std::string>& lines) {
    const curve& c = chart_.curves[i];
    const std::string color = fmt::format("c{}", c.run);
    const bool shown = is_shown(c.what, is_log());
    out_ += fmt::format("<g class=\"series {}{}\" data-run=\"{}\" data-kind=\"{}\"", color,
                        shown ? "" : " off", c.run, name_of(c.what));
    add_data(c, spreads_[i].most, samples);
    for (const curve::band& b : c.bands) draw(b, samples, color);
    if (shown) {
      const std::string look = color + (c.what == curve::kind::faint ? " faint" : "");
      draw_line(samples, look, dash_style(i, lines));
      if (y_.clipped && !is_smooth(c.what)) draw_marks(samples, color);
    }
    out_ += "</g>\n";
  }

  void add_data(const curve& c, const range& most, const std::vector<sample>& samples) {
    out_ += fmt::format(" data-begin=\"{:.3f}\"", c.begin);
    if (!is_smooth(c.what))
      out_ += fmt::format(" data-most=\"{:.6g} {:.6g}\"", most.low, most.high);
    out_ += attribute("s", samples, [](const sample& s) { return fmt::format("{}", s.step); });
    out_ += attribute("t", samples, [](const sample& s) { return fmt::format("{:.7g}", s.time); });
    out_ += attribute("v", samples, [](const sample& s) { return fmt::format("{:.6g}", s.value); });
    out_ += ">\n";
  }

  // The points of a line for each stretch without a gap, one on each line of the text.
  [[nodiscard]] std::string line_text(const std::vector<sample>& samples) const {
    std::string text;
    for (std::size_t i = 0; i < samples.size(); ++i) {
      if (!is_finite(samples[i])) continue;
      const bool goes_on = i > 0 && is_finite(samples[i - 1]);
      text += fmt::format("{}{:.1f},{:.1f}",
                          text.empty() ? ""
                          : goes_on    ? " "
                                       : "\n",
                          x(samples[i]), y(samples[i].value));
    }
    return text;
  }

  // Overlapping curves share the line: each has a different dash.
  [[nodiscard]] std::string dash_style(std::size_t i, const std::vector<std::string>& lines) const {
    int before = 0;
    int count = 0;
    for (std::size_t k = 0; k < lines.size(); ++k) {
      if (chart_.curves[k].what != chart_.curves[i].what || lines[k] != lines[i]) continue;
      ++count;
      if (k < i) ++before;
    }
    if (before == 0) return {};
    return fmt::format(" style=\"stroke-dasharray: {} {}; stroke-dashoffset: {}\"", dash,
                       dash * (count - 1), -dash * before);
  }

  // A stretch of one point is a dot.
  void draw_line(const std::vector<sample>& samples, const std::string& look,
                 const std::string& dashes) {
    const std::string text = line_text(samples);
    for (std::size_t at = 0; at < text.size();) {
      const std::size_t end = std::min(text.find('\n', at), text.size());
      const std::string stretch = text.substr(at, end - at);
      if (stretch.find(' ') == std::string::npos) {
        const std::size_t comma = stretch.find(',');
        out_ += fmt::format("<circle class=\"dot {}\" cx=\"{}\" cy=\"{}\" r=\"3\"/>\n", look,
                            stretch.substr(0, comma), stretch.substr(comma + 1));
      } else {
        out_ +=
            fmt::format("<polyline class=\"curve {}\"{} points=\"{}\"/>\n", look, dashes, stretch);
      }
      at = end + 1;
    }
  }

  // Triangles at the edge mark values outside; of adjacent values, the farthest one is marked.
  void draw_marks(const std::vector<sample>& samples, const std::string& color) {
    for (const bool above : {true, false}) {
      std::optional<sample> last;
      for (const sample& s : samples) {
        if (!is_finite(s) || !y_.is_outside(s.value)) continue;
        if ((y_.to_axis(s.value) > y_.shown.high) != above) continue;
        if (last && x(s) - x(*last) < mark_distance) {
          if (above ? s.value > last->value : s.value < last->value) last = s;
          continue;
        }
        if (last) draw_mark(*last, above, color);
        last = s;
      }
      if (last) draw_mark(*last, above, color);
    }
  }

  void draw_mark(const sample& s, bool above, const std::string& color) {
    out_ += fmt::format(
        "<path class=\"mark {}\" d=\"M{:.1f},{}l-5,{}h10z\"><title>step {}: {}</title></path>\n",
        color, x(s), above ? top : height - bottom, above ? 8 : -8, s.step, number_text(s.value));
  }

  void draw(const curve::band& b, const std::vector<sample>& samples, const std::string& color) {
    if (b.empty() || b.size() != samples.size()) return;
    std::string lows;
    std::string highs;
    std::string outline;
    for (std::size_t i = 0; i < b.size(); ++i) {
      const char* const gap = i == 0 ? "" : " ";
      lows += fmt::format("{}{:.6g}", gap, b[i].first);
      highs += fmt::format("{}{:.6g}", gap, b[i].second);
      outline += fmt::format("{}{:.1f},{:.1f}", gap, x(samples[i]), y(b[i].second));
    }
    for (std::size_t i = b.size(); i-- > 0;) {
      outline += fmt::format(" {:.1f},{:.1f}", x(samples[i]), y(b[i].first));
    }
    out_ +=
        fmt::format("<polygon class=\"band {}\" data-low=\"{}\" data-high=\"{}\" points=\"{}\"/>\n",
                    color, lows, highs, outline);
  }

  const chart& chart_;
  const bool can_be_log_;
  std::vector<spread> spreads_;  // of each curve
  range x_;
  value_axis linear_;
  value_axis log_;
  value_axis y_;  // the one that is drawn
  std::string out_;
};

}  // namespace

std::string escape_html(std::string_view text) {
  const std::string clean = escape_text(text);  // no control characters, valid UTF-8
  std::string out;
  for (const char c : clean) {
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

bool chart::has_values() const noexcept {
  return std::ranges::any_of(
      curves, [](const curve& c) { return std::ranges::any_of(c.samples, is_finite); });
}

bool chart::can_be_logarithmic() const noexcept {
  const auto is_positive = [](const sample& s) { return !is_finite(s) || s.value > 0; };
  return has_values() && std::ranges::all_of(curves, [&](const curve& c) {
           return c.bands.empty() && std::ranges::all_of(c.samples, is_positive);
         });
}

std::string chart::html() const { return drawing(*this).text(); }

}  // namespace tool
