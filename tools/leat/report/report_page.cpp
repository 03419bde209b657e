#include "report/report_page.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>
#include <string_view>

#include <fmt/format.h>

#include <leat/base/error.hpp>

#include "report/chart.hpp"
#include "report/report_assets.hpp"
#include "terminal/text.hpp"

namespace tool {
namespace {

using scalars = std::vector<leat::scalar_point>;
using histograms = std::vector<leat::histogram_point>;

// Samples of all curves of a page, if --max-points is not set.
constexpr std::size_t page_samples = 200'000;
constexpr std::size_t most_points = 1000;
constexpr std::size_t least_points = 100;

const scalars* find_scalars(const reported_run& run, const std::string& tag) {
  const auto found = run.content.series.scalars.find(tag);
  return found == run.content.series.scalars.end() || found->second.empty() ? nullptr
                                                                            : &found->second;
}

const histograms* find_histograms(const reported_run& run, const std::string& tag) {
  const auto found = run.content.series.histograms.find(tag);
  return found == run.content.series.histograms.end() || found->second.empty() ? nullptr
                                                                               : &found->second;
}

// Seconds since 1970 of the first value of a run; 0 if it has none.
double first_time(const reported_run& run) {
  range times;
  for (const auto& [tag, points] : run.content.series.scalars) {
    for (const leat::scalar_point& p : points) times.cover(p.wall_time);
  }
  for (const auto& [tag, points] : run.content.series.histograms) {
    for (const leat::histogram_point& p : points) times.cover(p.wall_time);
  }
  return std::isfinite(times.low) ? times.low : 0;
}

std::string swatch(std::size_t run, const std::string& name) {
  return fmt::format("<span class=\"swatch c{}\"></span>{}", run, escape_html(name));
}

std::string row(std::size_t run, const std::string& name, const scalars& values) {
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
  const std::string gaps =
      odd == 0 ? "" : fmt::format(" <span class=\"note\">{} not finite</span>", odd);
  return fmt::format(
      "<tr><td>{}{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td></tr>\n",
      swatch(run, name), gaps, values.size(), number_text(double{values.back().value}),
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
      escape_html(tag), svg, head, rows);
}

// The pairs of percentiles around the median, the outermost first; the median itself.
void add_distribution(curve& line, const histograms& values) {
  const std::size_t count = drawn_percentiles().size();
  line.bands.resize(count / 2);
  for (const leat::histogram_point& h : values) {
    const std::vector<double> at = percentiles_of(h.value);
    if (at.empty()) continue;
    for (std::size_t i = 0; i < line.bands.size(); ++i) {
      line.bands[i].emplace_back(at[i], at[count - 1 - i]);
    }
    line.samples.push_back({h.step, h.wall_time - line.begin, at[count / 2]});
  }
}

// At most `count` values at equal distances, including the last one.
histograms sample_evenly(const histograms& values, std::size_t count) {
  if (values.size() <= count || count < 2) return values;
  histograms some;
  for (std::size_t i = 0; i < count; ++i) {
    some.push_back(values[i * (values.size() - 1) / (count - 1)]);
  }
  return some;
}

std::string row(std::size_t run, const std::string& name, const histograms& values) {
  const leat::histogram_point& last = values.back();
  const std::vector<double> at = percentiles_of(last.value);
  return fmt::format(
      "<tr><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td></tr>\n",
      swatch(run, name), number_text(last.value.num),
      at.empty() ? "-" : number_text(at[at.size() / 2]), number_text(last.value.min),
      number_text(last.value.max), last.step);
}

// The form of a tag of scalars on the page.
enum class scalar_form { chart, single_values, nothing_finite };

scalar_form classify_scalars(const std::string& tag, const std::vector<reported_run>& runs) {
  bool is_curve = false;
  bool has_finite = false;
  for (const reported_run& r : runs) {
    const scalars* const values = find_scalars(r, tag);
    if (!values) continue;
    is_curve = is_curve || values->size() > 1;
    has_finite = has_finite || std::ranges::any_of(*values, [](const leat::scalar_point& p) {
                   return std::isfinite(p.value);
                 });
  }
  if (!is_curve) return scalar_form::single_values;
  return has_finite ? scalar_form::chart : scalar_form::nothing_finite;
}

class page_builder {
 public:
  page_builder(const std::vector<reported_run>& runs, const page_options& options)
      : runs_(runs), options_(options) {
    std::size_t curves = 0;
    for (const reported_run& r : runs) {
      begins_.push_back(first_time(r));
      for (const auto& [tag, points] : r.content.series.scalars) {
        if (points.empty()) continue;
        scalar_tags_.insert(tag);
        if (points.size() > 1) ++curves;
      }
      for (const auto& [tag, points] : r.content.series.histograms) {
        if (points.empty()) continue;
        histogram_tags_.insert(tag);
        if (points.size() > 1) ++curves;
      }
    }
    max_points_ = options.max_points.value_or(
        std::clamp(page_samples / std::max<std::size_t>(curves, 1), least_points, most_points));
  }

  [[nodiscard]] std::string page() const {
    const std::string title = escape_html(options_.title);
    return fmt::format(
        "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"/>\n<meta "
        "name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n<title>{}</title>\n"
        "<style>{}{}</style></head><body>\n<h1>{}</h1>\n{}{}<main>\n{}</main>\n"
        "<footer>Made by leat report.</footer>\n<script>//<![CDATA[{}//]]></script>\n"
        "</body></html>\n",
        title, report_style(), report_run_style(runs_.size()), title, legend(), controls(),
        content(), report_script());
  }

 private:
  using section_maker = std::string (page_builder::*)(const std::string& tag) const;

  [[nodiscard]] std::string legend() const {
    std::string items;
    for (std::size_t i = 0; i < runs_.size(); ++i) {
      const leat::event_run& r = runs_[i].content;
      std::string notes;
      const auto note = [&](std::uint64_t count, const char* what) {
        if (count > 0) notes += fmt::format(", {} {}", count, what);
      };
      note(r.series.discarded, "discarded, because their steps were repeated");
      note(r.skipped, "damaged");
      items += fmt::format(
          "<li><label><input type=\"checkbox\" id=\"r{}\" checked=\"checked\"/>{}</label> "
          "<span class=\"note\">{}{}</span></li>\n",
          i, swatch(i, runs_[i].name), count_text(r.series.events, "event"), notes);
    }
    return "<ul class=\"legend\">\n" + items + "</ul>\n";
  }

  // Hidden until the script shows them.
  [[nodiscard]] std::string controls() const {
    std::string axes;
    for (const auto& [value, label] :
         {std::pair("step", "step"), std::pair("relative", "relative time"),
          std::pair("wall", "wall time")}) {
      axes +=
          fmt::format("<label><input type=\"radio\" name=\"axis\" value=\"{}\"{}/> {}</label>\n",
                      value, axes.empty() ? " checked=\"checked\"" : "", label);
    }
    return fmt::format(
        "<form class=\"controls\" hidden=\"hidden\" "
        "autocomplete=\"off\"><fieldset>\n{}</fieldset>\n"
        "<label><input type=\"checkbox\" name=\"log\"{}/> logarithmic values</label></form>\n",
        axes, options_.log_scale ? " checked=\"checked\"" : "");
  }

  [[nodiscard]] std::string content() const {
    std::set<std::string> charts;
    std::set<std::string> single;
    std::set<std::string> without;
    for (const std::string& tag : scalar_tags_) {
      switch (classify_scalars(tag, runs_)) {
        case scalar_form::chart: charts.insert(tag); break;
        case scalar_form::single_values: single.insert(tag); break;
        case scalar_form::nothing_finite: without.insert(tag); break;
      }
    }
    const std::string all =
        groups(charts, "", &page_builder::scalar_section) +
        groups(histogram_tags_, ", histograms", &page_builder::histogram_section) +
        single_values(single) + without_values(without);
    return all.empty() ? "<p>These runs have no scalars and no histograms.</p>\n" : all;
  }

  // First the tags that stand alone, then a part for each prefix that several have.
  [[nodiscard]] std::string groups(const std::set<std::string>& tags, std::string_view suffix,
                                   section_maker make) const {
    std::map<std::string, std::vector<std::string>> by_prefix;
    for (const std::string& tag : tags) by_prefix[tag.substr(0, tag.find('/'))].push_back(tag);
    std::string alone;
    std::string grouped;
    for (const std::string& tag : tags) {
      const std::string prefix = tag.substr(0, tag.find('/'));
      const std::vector<std::string>& group = by_prefix[prefix];
      if (group.size() == 1) {
        alone += (this->*make)(tag);
      } else if (group.front() == tag) {
        grouped += fmt::format(
            "<details open=\"open\"><summary>{} <span class=\"note\">{}{}</span></summary>\n"
            "<div class=\"charts\">\n",
            escape_html(prefix), count_text(group.size(), "chart"), suffix);
        for (const std::string& member : group) grouped += (this->*make)(member);
        grouped += "</div></details>\n";
      }
    }
    if (alone.empty()) return grouped;
    return "<div class=\"charts\">\n" + alone + "</div>\n" + grouped;
  }

  [[nodiscard]] std::string scalar_section(const std::string& tag) const {
    chart c;
    c.title = tag;
    c.log = options_.log_scale;
    c.max_points = max_points_;
    std::string rows;
    for (std::size_t i = 0; i < runs_.size(); ++i) {
      const scalars* const values = find_scalars(runs_[i], tag);
      if (!values) continue;
      curve line;
      line.run = i;
      line.name = runs_[i].name;
      line.begin = begins_[i];
      line.what = options_.smoothing > 0 ? curve::kind::faint : curve::kind::plain;
      for (const leat::scalar_point& p : *values) {
        line.samples.push_back({p.step, p.wall_time - begins_[i], double{p.value}});
      }
      c.curves.push_back(std::move(line));
      rows += row(i, runs_[i].name, *values);
    }
    c.description =
        fmt::format("{} over the steps, of {}", tag, count_text(c.curves.size(), "run"));
    if (options_.smoothing > 0) add_smoothed(c);
    return graph_section(tag, c.html(), scalar_head, rows);
  }

  // In front of the values: one curve for each axis that the chart can have.
  void add_smoothed(chart& c) const {
    const std::size_t count = c.curves.size();
    const bool can_be_log = c.can_be_logarithmic();
    for (const auto what : {curve::kind::smooth_linear, curve::kind::smooth_log}) {
      const bool log = what == curve::kind::smooth_log;
      if (log && !can_be_log) continue;
      for (std::size_t i = 0; i < count; ++i) {
        curve line = c.curves[i];
        line.what = what;
        line.samples = smoothed(std::move(line.samples), options_.smoothing, log);
        c.curves.push_back(std::move(line));
      }
    }
  }

  [[nodiscard]] std::string histogram_section(const std::string& tag) const {
    chart c;
    c.title = tag;
    std::string rows;
    for (std::size_t i = 0; i < runs_.size(); ++i) {
      const histograms* const values = find_histograms(runs_[i], tag);
      if (!values) continue;
      curve line;
      line.run = i;
      line.name = runs_[i].name;
      line.begin = begins_[i];
      add_distribution(line, sample_evenly(*values, max_points_));
      c.curves.push_back(std::move(line));
      rows += row(i, runs_[i].name, *values);
    }
    c.description = fmt::format(
        "Distribution of {} over the steps, of {}: median, and bands of percentiles 31 to 69, 16 "
        "to 84, 7 to 93 and 0 to 100",
        tag, count_text(c.curves.size(), "run"));
    return graph_section(tag, c.html(), histogram_head, rows);
  }

  // A row for each tag, a column for each run.
  [[nodiscard]] std::string single_values(const std::set<std::string>& tags) const {
    if (tags.empty()) return {};
    std::set<std::size_t> shown;
    for (std::size_t i = 0; i < runs_.size(); ++i) {
      for (const std::string& tag : tags) {
        if (find_scalars(runs_[i], tag)) shown.insert(i);
      }
    }
    std::string head;
    for (const std::size_t i : shown) {
      head += fmt::format("<th class=\"v{}\">{}</th>", i, swatch(i, runs_[i].name));
    }
    std::string rows;
    for (const std::string& tag : tags) rows += single_row(tag, shown);
    return fmt::format(
        "<section class=\"singles\"><h2>Single values</h2>\n<div class=\"table\"><table><thead><tr>"
        "<th>tag</th>{}<th>step</th></tr></thead><tbody>\n{}</tbody></table></div></section>\n",
        head, rows);
  }

  // The step has a separate column; if the runs differ, it follows the values instead.
  [[nodiscard]] std::string single_row(const std::string& tag,
                                       const std::set<std::size_t>& shown) const {
    std::set<std::int64_t> steps;
    for (const std::size_t i : shown) {
      if (const scalars* const values = find_scalars(runs_[i], tag))
        steps.insert(values->front().step);
    }
    std::string cells;
    for (const std::size_t i : shown) {
      std::string text;
      if (const scalars* const values = find_scalars(runs_[i], tag)) {
        text = number_text(double{values->front().value});
        if (steps.size() > 1) text += fmt::format(" at {}", values->front().step);
      }
      cells += fmt::format("<td class=\"v{}\">{}</td>", i, text);
    }
    return fmt::format("<tr><td>{}</td>{}<td>{}</td></tr>\n", escape_html(tag), cells,
                       steps.size() == 1 ? fmt::format("{}", *steps.begin()) : "");
  }

  [[nodiscard]] std::string without_values(const std::set<std::string>& tags) const {
    if (tags.empty()) return {};
    std::string list;
    for (const std::string& tag : tags) {
      std::string counts;
      for (const reported_run& r : runs_) {
        const scalars* const values = find_scalars(r, tag);
        if (!values) continue;
        counts += fmt::format("{}{} in {}", counts.empty() ? "" : ", ",
                              count_text(values->size(), "value"), r.name);
      }
      list += fmt::format("{}{} ({})", list.empty() ? "" : "; ", tag, counts);
    }
    return fmt::format("<p class=\"note\">Without a finite value: {}.</p>\n", escape_html(list));
  }

  const std::vector<reported_run>& runs_;
  const page_options& options_;
  std::vector<double> begins_;  // of the runs
  std::set<std::string> scalar_tags_;
  std::set<std::string> histogram_tags_;
  std::size_t max_points_ = most_points;
};

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
  return page_builder(runs, options).page();
}

}  // namespace tool
