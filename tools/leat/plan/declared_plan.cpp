#include "plan/declared_plan.hpp"

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "input/input_options.hpp"
#include "input/paths.hpp"
#include "output/column_output.hpp"
#include "terminal/output.hpp"
#include "terminal/status.hpp"
#include "terminal/text.hpp"

namespace tool {
namespace {

void read_options(toml_table& s, declared_plan& plan) {
  leat::pipeline_options& to = plan.pipeline.options;
  static const std::map<std::string, leat::ordering, std::less<>> orders{
      {"deterministic", leat::ordering::deterministic}, {"free", leat::ordering::free}};
  s.read("name", to.name);
  s.choose("order", to.order, orders);
  s.read_duration("patience", to.patience);
  if (s.has("memory_budget")) s.read_size("memory_budget", to.memory_budget.emplace(0));
  static_cast<void>(s.find("memory_budget"));
  s.read("threads", plan.threads, 0, 1024);
  s.reject_unknown_keys();
}

// The output format if the file name does not determine it.
format default_format(leat::plan_element kind) {
  if (kind == leat::plan_element::column_batches) return format::csv;
  const bool lines = kind == leat::plan_element::lines || kind == leat::plan_element::line_batches;
  return lines ? format::lines : format::tfrecord;
}

// Rejects columns that a format cannot store.
void check_columns(toml_table& s, const std::vector<leat::planned_column>& columns, format to) {
  if (to != format::csv && to != format::tfrecord) {
    s.add_error(
        "columns can be written only as csv or tfrecord: set format, or choose a path with "
        "such a suffix");
    return;
  }
  using form = leat::planned_column::form;
  for (const leat::planned_column& c : columns) {
    if (to == format::csv && c.shape != form::scalar) {
      s.add_error(
          fmt::format("column '{}' is {}, but csv stores one value for each record: write "
                      "tfrecord, or print",
                      escape_text(c.name), c.text));
    }
    if (to == format::tfrecord && (c.shape == form::other || !can_be_feature(c.type))) {
      s.add_error(fmt::format("column '{}' is {}, which an Example cannot store: print it",
                              escape_text(c.name), c.text));
    }
  }
}

void read_writing(toml_table& s, const plan_overrides& overrides, const leat::pipeline_plan& plan,
                  output_plan& to) {
  const leat::plan_element element = plan.element_after(plan.stages.size());
  sink_options& sink = to.sink;
  if (overrides.path.empty() && s.require("path", "the output file")) s.read("path", sink.path);
  static_cast<void>(s.find("path"));
  if (!overrides.path.empty()) sink.path = overrides.path;
  const format_guess guess = guess_format(sink.path);
  std::optional<format> records = guess.records;
  s.choose("format", records, written_formats());
  sink.records = records.value_or(default_format(element));
  std::optional<leat::compression> compression = guess.compression;
  s.choose("compression", compression, compressions());
  if (!compression)
    s.add_error("compression",
                "\"auto\" applies only to input: give \"none\", \"zlib\" or \"gzip\"");
  sink.compression = compression.value_or(leat::compression::none);
  s.read("level", sink.level, 0, 9);
  s.read("shards", sink.shards, 1, 10000);
  s.read("max_records", sink.max_records, 1);
  s.read_size("max_bytes", sink.max_bytes);
  s.read("index", sink.index);
  s.read("header", to.header);
  read_delimiter(s, to.delimiter);
  if (element == leat::plan_element::column_batches) check_columns(s, plan.columns(), sink.records);
  if (sink.is_sharded() && (sink.records != format::tfrecord || sink.path == "-")) {
    s.add_error(
        "shards, max_records and max_bytes apply only to TFRecord files, not to standard output");
  }
  if (sink.index && !sink.can_have_index()) {
    s.add_error("index", "only uncompressed TFRecord files can have an index");
  }
}

// Returns the table of this name, or an empty one.
const toml_value* find_table(const toml_value& document, std::string_view name) {
  static const toml_value none{toml_value::table(), {}};
  for (const toml_value::entry& e : *document.as<toml_value::table>()) {
    if (e.key == name) return &e.value;
  }
  return &none;
}

// Returns the position of a table, and those of its values.
plan_part make_part(const toml_value& table) {
  plan_part part;
  part.where = table.where;
  const auto* const entries = table.as<toml_value::table>();
  if (!entries) return part;
  for (const toml_value::entry& e : *entries) part.options.emplace(e.key, e.value.where);
  return part;
}

output_plan read_output(toml_table& s, const plan_overrides& overrides,
                        const leat::pipeline_plan& plan) {
  static const std::map<std::string, output_plan::kind, std::less<>> kinds{
      {"count", output_plan::kind::count},
      {"print", output_plan::kind::print},
      {"write", output_plan::kind::write}};
  output_plan to;
  s.choose("kind", to.what, kinds);
  const auto declared = to.what;
  if (overrides.output) to.what = *overrides.output;
  if (to.what == output_plan::kind::write) read_writing(s, overrides, plan, to);
  // A declared output that the command line replaces is not checked.
  if (to.what == declared) s.reject_unknown_keys();
  return to;
}

// Returns the batch size of records and lines if a plan has no batch stage. A batch is complete
// when it is full, so each record of a live input, such as a pipe, is a batch if it is to be shown.
std::size_t default_batch_size(const declared_plan& plan) {
  constexpr std::size_t usual = 64;
  if (plan.output.what == output_plan::kind::count || !output::is_terminal()) return usual;
  const auto is_live = [](const std::string& path) {
    std::error_code ignored;
    const auto status = std::filesystem::status(path, ignored);
    return std::filesystem::exists(status) && !std::filesystem::is_regular_file(status);
  };
  return std::ranges::any_of(plan.files(), is_live) ? 1 : usual;
}

// Keeps the order of errors at one place. clang warns about the buffer of std::stable_sort().
void sort_by_place(toml_errors& found) {
  const auto before = [](const toml_error& a, const toml_error& b) { return a.where < b.where; };
  for (auto next = found.begin(); next != found.end(); ++next) {
    std::rotate(std::upper_bound(found.begin(), next, *next, before), next, next + 1);
  }
}

// Adds the errors of the pipeline, except those of parts that have others already.
void check_pipeline(declared_plan& plan, toml_errors& found) {
  for (const leat::plan_error& e : leat::find_plan_errors(plan.pipeline)) {
    if (!plan.parts[e.part()].has_errors) found.push_back(plan.to_toml_error(e));
  }
}

}  // namespace

toml_error declared_plan::to_toml_error(const leat::plan_error& e) const {
  const plan_part& part = parts[e.part()];
  const auto option = part.options.find(e.option());
  return {option == part.options.end() ? part.where : option->second,
          with_display_path(message_of(e))};
}

declared_plan make_plan(const toml_value& document, const plan_overrides& overrides,
                        toml_errors& found) {
  declared_plan plan;
  toml_table whole(document, std::string(document_title), found);
  const auto part = [&](const char* name) {
    static_cast<void>(whole.find(name));
    return toml_table(*find_table(document, name), fmt::format("[{}]", name), found);
  };
  toml_table options = part("pipeline");
  read_options(options, plan);
  plan.parts.push_back(make_part(*find_table(document, "source")));
  if (whole.require("source", "a table [source]")) {
    toml_table source = part("source");
    read_source(source, overrides.files, plan);
  }
  plan.parts.back().has_errors = !found.empty();
  for (toml_table& s : whole.tables("stage", "stage")) {
    plan.parts.push_back(make_part(s.value()));
    const std::size_t errors_before = found.size();
    plan.pipeline.stages.push_back(read_stage(s));
    plan.parts.back().has_errors = found.size() > errors_before;
  }
  toml_table output = part("output");
  plan.output = read_output(output, overrides, plan.pipeline);
  whole.reject_unknown_keys();
  plan.is_batched =
      plan.pipeline.element_after(plan.pipeline.stages.size()) > leat::plan_element::lines;
  if (!plan.is_batched) {
    plan.parts.push_back({});
    plan.pipeline.stages.push_back(
        leat::batch_stage_options{.batch_size = default_batch_size(plan), .name = "output"});
  }
  check_pipeline(plan, found);
  sort_by_place(found);
  return plan;
}

}  // namespace tool
