#include "report_page.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <string_view>

#include <fmt/format.h>

#include <leat/core/error.hpp>

#include "chart.hpp"
#include "text.hpp"

namespace tool {
namespace {

// Colours that people with any kind of sight can tell apart; then again, dashed.
constexpr std::size_t colors = 8;

constexpr std::string_view style = R"(
:root { color-scheme: light dark; --back: #fff; --fore: #1b1f24; --dim: #6a737d; --grid: #e3e6ea;
  --p0: #0072b2; --p1: #d55e00; --p2: #009e73; --p3: #cc79a7; --p4: #b8860b; --p5: #2f9fd8;
  --p6: #8c6bb1; --p7: #444c56; }
@media (prefers-color-scheme: dark) { :root { --back: #0f1318; --fore: #dfe4ea; --dim: #93a0ad;
  --grid: #29313a; --p0: #56b4e9; --p1: #ff9e57; --p2: #3ecf9e; --p3: #eaa4cb; --p4: #f0d04a;
  --p5: #7fc8ff; --p6: #c3a6ea; --p7: #b3bcc6; } }
body { background: var(--back); color: var(--fore); font: 15px/1.45 system-ui, sans-serif;
  margin: 0 auto; max-width: 1400px; padding: 1rem; }
h1 { font-size: 1.3rem; } h2 { font-size: 1rem; margin: 0 0 .3rem; overflow-wrap: anywhere; }
main { display: grid; gap: 1.5rem;
  grid-template-columns: repeat(auto-fill, minmax(min(100%, 26rem), 1fr)); }
section { border: 1px solid var(--grid); border-radius: 6px; padding: .8rem; min-width: 0; }
svg { display: block; width: 100%; height: auto; }
.axes line { stroke: var(--grid); } .axes text { fill: var(--dim); font-size: 11px; }
.axes .x { text-anchor: middle; } .axes .y { text-anchor: end; }
.curve { fill: none; stroke: var(--c); stroke-width: 1.8; stroke-linejoin: round; }
.curve.over { stroke-dasharray: 7 7; }
.table { overflow-x: auto; } td + td { white-space: nowrap; } td:first-child { min-width: 7em; }
@media (max-width: 40rem) { body { padding: .5rem; } section { padding: .5rem; }
  .axes text { font-size: 17px; } }
.dot { fill: var(--c); } .faint { opacity: .3; } .band { fill: var(--c); opacity: .18; }
ul { list-style: none; padding: 0; display: flex; flex-wrap: wrap; gap: .2rem 1.2rem; }
.swatch { display: inline-block; width: 1.4em; height: .3em; margin-right: .4em;
  vertical-align: middle; background: var(--c); }
table { border-collapse: collapse; font-size: .85rem; width: 100%; margin-top: .4rem; }
th, td { text-align: right; padding: .1rem .5rem; font-variant-numeric: tabular-nums; }
th:first-child, td:first-child { text-align: left; overflow-wrap: anywhere; }
tr + tr td { border-top: 1px solid var(--grid); }
footer, .note { color: var(--dim); font-size: .85rem; }
)";

std::string color_rules(std::size_t runs) {
  std::string rules;
  for (std::size_t i = 0; i < runs; ++i) {
    rules += fmt::format(".c{0} {{ --c: var(--p{1}); }}", i, i % colors);
    if (i >= colors) rules += fmt::format(" .curve.c{} {{ stroke-dasharray: 6 3; }}", i);
    rules += fmt::format(
        "\n:root:has(#r{0}:not(:checked)) main :is(svg .c{0}, tr:has(.c{0})) {{ display: none; }}",
        i);
    rules += "\n";
  }
  return rules;
}

std::vector<point> points_of(const std::vector<leat::scalar_point>& values) {
  std::vector<point> points;
  for (const leat::scalar_point& v : values) {
    points.push_back({static_cast<double>(v.step), double{v.value}});
  }
  return points;
}

std::string swatch(std::size_t color, const std::string& name) {
  return fmt::format("<span class=\"swatch c{}\"></span>{}", color, html_escaped(name));
}

std::string row(std::size_t color, const std::string& name,
                const std::vector<leat::scalar_point>& values) {
  double low = std::numeric_limits<double>::infinity();
  double high = -low;
  std::size_t odd = 0;
  for (const leat::scalar_point& v : values) {
    if (std::isfinite(v.value)) {
      low = std::min(low, double{v.value});
      high = std::max(high, double{v.value});
    } else {
      ++odd;
    }
  }
  const bool any = low <= high;
  const std::string gaps = odd == 0 ? "" : fmt::format(" ({} not finite)", odd);
  return fmt::format(
      "<tr><td>{}</td><td>{}{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td></tr>\n",
      swatch(color, name), values.size(), gaps, number_text(double{values.back().value}),
      any ? number_text(low) : "-", any ? number_text(high) : "-", values.back().step);
}

constexpr std::string_view scalar_head =
    "<thead><tr><th>run</th><th>values</th><th>last</th><th>min</th><th>max</th><th>step</th></tr>"
    "</thead>";
constexpr std::string_view histogram_head =
    "<thead><tr><th>run</th><th>values</th><th>median</th><th>min</th><th>max</th><th>step</th></"
    "tr>"
    "</thead>";

std::string graph_section(const std::string& tag, const std::string& svg, std::string_view head,
                          const std::string& rows) {
  return fmt::format(
      "<section class=\"chart\"><h2>{}</h2>\n{}<div class=\"table\"><table>{}<tbody>\n{}</tbody>"
      "</table></div></section>\n",
      html_escaped(tag), svg, head, rows);
}

// Leaves a chart as it is if a value has no logarithm.
void use_log_scale(chart& c) {
  for (const curve& line : c.curves) {
    for (const point& p : line.points) {
      if (std::isfinite(p.y) && p.y <= 0) return;
    }
  }
  c.log_y = true;
  for (curve& line : c.curves) {
    for (point& p : line.points) p.y = std::log10(p.y);
  }
}

// True if a run has more than one value of the tag: the others are no curves.
bool is_curve(const std::string& tag, const std::vector<reported_run>& runs) {
  return std::ranges::any_of(runs, [&](const reported_run& r) {
    const auto found = r.content.series.scalars.find(tag);
    return found != r.content.series.scalars.end() && found->second.size() > 1;
  });
}

std::string scalar_section(const std::string& tag, const std::vector<reported_run>& runs,
                           const page_options& options) {
  chart c;
  c.title = tag;
  std::string rows;
  std::vector<curve> smooth;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const auto found = runs[i].content.series.scalars.find(tag);
    if (found == runs[i].content.series.scalars.end()) continue;
    const std::vector<point> all = points_of(found->second);
    if (options.smoothing > 0) {
      smooth.push_back({i, false, thinned(smoothed(all, options.smoothing), options.max_points)});
    }
    c.curves.push_back({i, options.smoothing > 0, thinned(all, options.max_points)});
    rows += row(i, runs[i].name, found->second);
  }
  c.description = fmt::format("{} over the steps, of {}", tag, count_text(c.curves.size(), "run"));
  c.curves.insert(c.curves.end(), smooth.begin(), smooth.end());
  if (!c.has_points()) {
    return graph_section(tag, "<p class=\"note\">No finite values.</p>\n", scalar_head, rows);
  }
  if (options.log_scale) use_log_scale(c);
  return graph_section(tag, c.svg(), scalar_head, rows);
}

// The pairs of percentiles around the median, the outermost first; the median itself.
void add_distribution(chart& c, std::size_t color,
                      const std::vector<leat::histogram_point>& values) {
  const std::size_t count = drawn_percentiles().size();
  std::vector<band> bands(count / 2);
  curve median;
  for (band& b : bands) b.color = color;
  median.color = color;
  for (const leat::histogram_point& h : values) {
    const std::vector<double> at = percentiles_of(h.value);
    if (at.empty()) continue;
    const auto x = static_cast<double>(h.step);
    for (std::size_t i = 0; i < bands.size(); ++i) {
      bands[i].slices.push_back({x, at[i], at[count - 1 - i]});
    }
    median.points.push_back({x, at[count / 2]});
  }
  for (band& b : bands) c.bands.push_back(std::move(b));
  c.curves.push_back(std::move(median));
}

// At most so many of them, evenly, with the last one.
std::vector<leat::histogram_point> some_of(const std::vector<leat::histogram_point>& values,
                                           std::size_t count) {
  if (values.size() <= count || count < 2) return values;
  std::vector<leat::histogram_point> some;
  for (std::size_t i = 0; i < count; ++i) {
    some.push_back(values[i * (values.size() - 1) / (count - 1)]);
  }
  return some;
}

std::string histogram_section(const std::string& tag, const std::vector<reported_run>& runs,
                              const page_options& options) {
  chart c;
  c.title = tag;
  std::string rows;
  std::size_t shown = 0;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const auto found = runs[i].content.series.histograms.find(tag);
    if (found == runs[i].content.series.histograms.end()) continue;
    ++shown;
    add_distribution(c, i, some_of(found->second, options.max_points));
    const leat::histogram_point& last = found->second.back();
    const std::vector<double> at = percentiles_of(last.value);
    rows +=
        fmt::format("<tr><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td></tr>\n",
                    swatch(i, runs[i].name), number_text(last.value.num),
                    at.empty() ? "-" : number_text(at[at.size() / 2]), number_text(last.value.min),
                    number_text(last.value.max), last.step);
  }
  c.description = fmt::format(
      "Distribution of {} over the steps, of {}: median, and bands of percentiles 31 to 69, 16 to "
      "84, 7 to 93 and 0 to 100",
      tag, count_text(shown, "run"));
  return graph_section(tag, c.svg(), histogram_head, rows);
}

std::string legend(const std::vector<reported_run>& runs) {
  std::string items;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const leat::event_run& r = runs[i].content;
    std::string notes;
    const auto note = [&](std::uint64_t count, const char* what) {
      if (count > 0) notes += fmt::format(", {} {}", count, what);
    };
    note(r.series.discarded, "taken back by a restart");
    note(r.skipped, "damaged");
    items += fmt::format(
        "<li><label><input type=\"checkbox\" id=\"r{}\" checked=\"checked\"/>{}</label> "
        "<span class=\"note\">{}{}</span></li>\n",
        i, swatch(i, runs[i].name), count_text(r.series.events, "event"), notes);
  }
  return "<ul class=\"legend\">\n" + items + "</ul>\n";
}

template <class Series>
void add_tags(const Series& series, std::set<std::string>& tags) {
  for (const auto& [tag, points] : series) {
    if (!points.empty()) tags.insert(tag);
  }
}

}  // namespace

const std::vector<double>& drawn_percentiles() {
  static const std::vector<double> all{0, 7, 16, 31, 50, 69, 84, 93, 100};
  return all;
}

std::vector<double> percentiles_of(const leat::histogram_data& data) {
  std::vector<double> at;
  try {
    const leat::histogram h(data);
    if (h.num() == 0) return at;
    for (const double p : drawn_percentiles()) at.push_back(h.percentile(p));
  } catch (const leat::failure&) {  // buckets that make no sense: nothing to draw
  }
  if (!std::all_of(at.begin(), at.end(), [](double v) { return std::isfinite(v); })) at.clear();
  return at;
}

std::string report_page(const std::vector<reported_run>& runs, const page_options& options) {
  std::set<std::string> scalars;
  std::set<std::string> histograms;
  for (const reported_run& r : runs) {
    add_tags(r.content.series.scalars, scalars);
    add_tags(r.content.series.histograms, histograms);
  }
  const std::string title = html_escaped(options.title);
  std::string page = fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"/>\n<meta name=\"viewport\" "
      "content=\"width=device-width, initial-scale=1\"/>\n<title>{}</title>\n<style>{}{}</style>"
      "</head><body>\n<h1>{}</h1>\n{}<main>\n",
      title, style, color_rules(runs.size()), title, legend(runs));
  std::string single;  // values that are no curves come last
  for (const std::string& tag : scalars) {
    (is_curve(tag, runs) ? page : single) += scalar_section(tag, runs, options);
  }
  for (const std::string& tag : histograms) page += histogram_section(tag, runs, options);
  page += single + "</main>\n";
  if (scalars.empty() && histograms.empty()) {
    page += "<p>There are no scalars and no histograms in these runs.</p>\n";
  }
  return page + "<footer>Made by leat report.</footer>\n</body></html>\n";
}

}  // namespace tool
