#include "plan/run_report.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "terminal/text.hpp"

namespace tool {
namespace {

using stage_row = std::array<std::string, 3>;  // name, description, kind of its output

std::string_view order_name(const declared_plan& plan) {
  return plan.pipeline.options.order == leat::ordering::free ? "free" : "deterministic";
}

std::string output_text(const declared_plan& plan) {
  switch (plan.output.what) {
    case output_plan::kind::count: return "count";
    case output_plan::kind::print: return "print";
    case output_plan::kind::write: break;
  }
  return "write " + plan.output.sink.path;
}

std::vector<stage_row> make_rows(const declared_plan& plan) {
  std::vector<stage_row> rows;
  const leat::pipeline_plan& p = plan.pipeline;
  const auto add = [&](std::string name, std::string text) {
    rows.push_back({std::move(name), std::move(text),
                    std::string(leat::to_string(p.element_after(rows.size())))});
  };
  std::visit(
      [&](const auto& source) {
        add(common_options(source).name,
            fmt::format("{} {}", plan.format().name, fmt::join(plan.files(), " ")));
      },
      p.source);
  const std::size_t declared = p.stages.size() - (plan.is_batched ? 0 : 1);
  for (std::size_t i = 0; i < declared; ++i) {
    const leat::plan_stage& stage = p.stages[i];
    add(std::visit([](const auto& s) -> std::string { return s.name; }, stage),
        describe_stage(stage));
  }
  return rows;
}

json plan_json(const declared_plan& plan, std::size_t threads) {
  json stages = json::array();
  for (const auto& [name, what, output_kind] : make_rows(plan)) {
    stages.push_back({{"name", name}, {"what", what}, {"gives", output_kind}});
  }
  json columns = json::array();
  for (const leat::planned_column& c : plan.pipeline.columns()) {
    columns.push_back({{"name", c.name}, {"is", c.text}});
  }
  return {{"pipeline", plan.pipeline.options.name},
          {"order", order_name(plan)},
          {"threads", threads},
          {"stages", std::move(stages)},
          {"columns", std::move(columns)},
          {"output", output_text(plan)}};
}

std::string counts_text(const run_report& r, const declared_plan& plan) {
  const std::string records = count_text(r.records, "record");
  return plan.is_batched ? count_text(r.elements, "batch", "batches") + ", " + records : records;
}

json report_json(const run_report& r, const declared_plan& plan) {
  json stages = json::array();
  for (const run_report::stage& s : r.stages) {
    stages.push_back({{"name", s.name},
                      {"records", s.records},
                      {"bytes", s.bytes},
                      {"left_over_bytes", s.left_over},
                      {"tasks", s.tasks},
                      {"busy", s.busy},
                      {"waited_for_input", s.waited_for_input},
                      {"waited_for_room", s.waited_for_room}});
  }
  json total{{"pipeline", plan.pipeline.options.name}};
  if (plan.is_batched) total["batches"] = r.elements;
  total["records"] = r.records;
  total["bytes_read"] = r.stages.front().bytes;
  total["dropped"] = r.dropped;
  total["damaged"] = r.lost.regions;
  total["lost_bytes"] = r.lost.bytes;
  total["left_over_bytes"] = r.stages.front().left_over;
  total["outputs"] = r.outputs;
  total["seconds"] = r.seconds;
  total["verdict"] = r.verdict;
  total["stages"] = std::move(stages);
  return {{"total", std::move(total)}};
}

// "points: 63 batches, 2000 records, 40.0 KiB read in 0.12 s, 16000 records/s. The bottleneck ..."
std::string summary(const run_report& r, const declared_plan& plan) {
  std::string text =
      fmt::format("{}: {}, {} read in {:.2f} s", escape_text(plan.pipeline.options.name),
                  counts_text(r, plan), size_text(r.stages.front().bytes), r.seconds);
  if (r.seconds > 0) {
    text += fmt::format(", {:.0f} records/s", static_cast<double>(r.records) / r.seconds);
  }
  if (r.dropped > 0) text += fmt::format(", {} dropped", r.dropped);
  if (r.lost.regions > 0) {
    text += fmt::format(", damaged in {}", count_text(r.lost.regions, "place"));
  }
  if (const std::uint64_t left_over = r.stages.front().left_over; left_over > 0) {
    text += fmt::format(", {} skipped at the ends of files (incomplete records)",
                        count_text(left_over, "byte"));
  }
  return text + ". " + r.verdict;
}

std::string stage_text(const run_report::stage& s, std::size_t width) {
  return fmt::format(
      "{:<{}}  {:>10} out  {}  busy {:3.0f} %, waited for input {:3.0f} %, for output "
      "{:3.0f} %",
      escape_text(s.name), width, s.records, count_text(s.tasks, "task"), 100 * s.busy,
      100 * s.waited_for_input, 100 * s.waited_for_room);
}

}  // namespace

void run_report::add_stages(std::span<const leat::stage_metrics* const> of,
                            leat::duration elapsed) {
  seconds = std::chrono::duration<double>(elapsed).count();
  verdict = leat::describe_bottleneck(of, elapsed);
  for (const leat::stage_metrics* const s : of) {
    const double all =
        std::max(seconds, 1e-9) * static_cast<double>(std::max<std::uint64_t>(s->tasks(), 1));
    const auto share = [all](leat::duration d) {
      return std::clamp(std::chrono::duration<double>(d).count() / all, 0.0, 1.0);
    };
    const double input = share(s->waited_for_input());
    const double room = share(s->waited_for_output());
    stages.push_back({s->name(), s->records(), s->bytes(), s->left_over(), s->tasks(),
                      std::max(0.0, share(s->work_time()) - input - room), input, room});
  }
}

void print_report(const run_report& r, const declared_plan& plan, bool verbose, program& p) {
  if (p.json) {
    p.out.write_line(report_json(r, plan));
  } else if (plan.output.what == output_plan::kind::count) {
    p.out.write(counts_text(r, plan) + "\n");
  } else if (plan.output.what == output_plan::kind::write && plan.output.sink.path != "-") {
    p.out.write(written_text(r.records, r.outputs) + "\n");
  }
  p.out.flush();
  if (!p.quiet) print_error(summary(r, plan));
  if (!verbose) return;
  std::size_t width = 0;
  for (const run_report::stage& s : r.stages) width = std::max(width, escape_text(s.name).size());
  for (const run_report::stage& s : r.stages) print_error(stage_text(s, width));
}

void print_plan(const declared_plan& plan, std::size_t threads, program& p) {
  if (p.json) {
    p.out.write_line(plan_json(plan, threads));
    return;
  }
  p.out.write(fmt::format("{}: {} order, {} for workers\n", escape_text(plan.pipeline.options.name),
                          order_name(plan), count_text(threads, "thread")));
  const std::vector<stage_row> rows = make_rows(plan);
  std::array<std::size_t, 2> widths{std::string_view("output").size(), 0};
  for (const stage_row& row : rows) {
    for (std::size_t i = 0; i < widths.size(); ++i) {
      widths[i] = std::max(widths[i], escape_text(row[i]).size());
    }
  }
  for (const auto& [name, what, output_kind] : rows) {
    p.out.write(fmt::format("  {:<{}}  {:<{}}  {}\n", escape_text(name), widths[0],
                            escape_text(what), widths[1], output_kind));
  }
  for (const leat::planned_column& c : plan.pipeline.columns()) {
    p.out.write(fmt::format("    {}: {}\n", escape_text(c.name), c.text));
  }
  p.out.write(fmt::format("  {:<{}}  {}\n", "output", widths[0], escape_text(output_text(plan))));
}

}  // namespace tool
