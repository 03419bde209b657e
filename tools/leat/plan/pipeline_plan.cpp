#include "plan/pipeline_plan.hpp"

#include <map>
#include <type_traits>
#include <utility>

#include <fmt/format.h>

#include "input/input_options.hpp"
#include "terminal/text.hpp"

namespace tool {
namespace {

const std::map<std::string, leat::batch_remainder, std::less<>> batch_remainders{
    {"keep", leat::batch_remainder::keep}, {"drop", leat::batch_remainder::drop}};

bool is_batch(element_kind kind) {
  return kind != element_kind::records && kind != element_kind::lines;
}

leat::shuffle_stage_options read_shuffle(toml_table& s, std::string& text) {
  leat::shuffle_stage_options o;
  s.read("name", o.name);
  if (s.require("capacity", "the number of elements in the buffer"))
    s.read("capacity", o.capacity, 1);
  s.read("seed", o.seed, 0);
  text = fmt::format("capacity {}", o.capacity);
  return o;
}

leat::batch_stage_options read_batch(toml_table& s, element_kind& kind, std::string& text) {
  if (is_batch(kind)) {
    s.add_error(fmt::format("elements are already {}: remove this stage", name_of(kind)));
  }
  leat::batch_stage_options o;
  s.read("name", o.name);
  if (s.require("size", "the number of elements of a batch")) s.read("size", o.batch_size, 1);
  s.choose("last", o.remainder, batch_remainders);
  text = fmt::format("{} each{}", o.batch_size,
                     o.remainder == leat::batch_remainder::drop ? ", full batches only" : "");
  kind = kind == element_kind::lines ? element_kind::line_batches : element_kind::record_batches;
  return o;
}

prefetch_plan read_prefetch(toml_table& s, std::string& text) {
  prefetch_plan o;
  s.read("name", o.name);
  if (s.require("runs", "the number of blocks of elements to read ahead"))
    s.read("runs", o.runs, 1);
  text = fmt::format("{} ahead", count_text(o.runs, "run"));
  return o;
}

decoder_plan read_columns(toml_table& s, const std::string& what, element_kind& kind,
                          std::string& text) {
  if (kind == element_kind::columns) {
    s.add_error("elements are already batches of columns: remove this stage");
  } else if (!is_batch(kind)) {
    s.add_error("needs batches: put a stage of kind \"batch\" before it");
  }
  decoder_plan plan = read_decoder(s, what, kind, text);
  kind = element_kind::columns;
  return plan;
}

void read_options(toml_table& s, pipeline_plan& plan) {
  static const std::map<std::string, leat::ordering, std::less<>> orders{
      {"deterministic", leat::ordering::deterministic}, {"free", leat::ordering::free}};
  s.read("name", plan.options.name);
  s.choose("order", plan.options.order, orders);
  s.read_duration("patience", plan.options.patience);
  if (s.has("memory_budget")) s.read_size("memory_budget", plan.options.memory_budget.emplace(0));
  static_cast<void>(s.find("memory_budget"));
  s.read("threads", plan.threads, 0, 1024);
  s.reject_unknown_keys();
}

// The output format if the file name does not determine it.
format default_format(element_kind kind) {
  switch (kind) {
    case element_kind::lines:
    case element_kind::line_batches: return format::lines;
    case element_kind::columns: return format::csv;
    default: return format::tfrecord;
  }
}

// Rejects columns that a format cannot store.
void check_columns(toml_table& s, const std::vector<column_info>& columns, format to) {
  if (to != format::csv && to != format::tfrecord) {
    s.add_error(
        "columns can be written only as csv or tfrecord: set format, or choose a path with "
        "such a suffix");
    return;
  }
  using form = column_info::form;
  for (const column_info& c : columns) {
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

void read_writing(toml_table& s, const plan_overrides& overrides, const pipeline_plan& plan,
                  output_plan& to) {
  static const std::map<std::string, format, std::less<>> formats{{"tfrecord", format::tfrecord},
                                                                  {"lines", format::lines},
                                                                  {"fixed", format::fixed},
                                                                  {"csv", format::csv}};
  sink_options& sink = to.sink;
  if (overrides.path.empty() && s.require("path", "the output file")) s.read("path", sink.path);
  static_cast<void>(s.find("path"));
  if (!overrides.path.empty()) sink.path = overrides.path;
  const format_guess guess = guess_format(sink.path);
  std::optional<format> records = guess.records;
  s.choose("format", records, formats);
  sink.records = records.value_or(default_format(plan.output_kind()));
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
  std::string delimiter(1, to.delimiter);
  s.read("delimiter", delimiter);
  if (delimiter.size() != 1 || delimiter.find_first_of("\"\r\n") == 0) {
    s.add_error("delimiter", "give one character, such as \";\" or \"\\t\"");
  } else {
    to.delimiter = delimiter.front();
  }
  if (plan.output_kind() == element_kind::columns) check_columns(s, plan.columns(), sink.records);
  if (sink.is_sharded() && (sink.records != format::tfrecord || sink.path == "-")) {
    s.add_error(
        "shards, max_records and max_bytes apply only to TFRecord files, not to standard output");
  }
  if (sink.index && !sink.can_have_index()) {
    s.add_error("index", "only uncompressed TFRecord files can have an index");
  }
}

// A stage that reads headers needs a source that skips them.
void check_header(toml_table& s, const source_plan& source) {
  if (const auto* const lines = std::get_if<leat::file_source<leat::line_reader>>(&source.from)) {
    if (lines->reader.skip_header_lines == 0)
      s.add_error("header = true requires skip_header_lines of at least 1 in [source]");
  } else if (const auto* const csv =
                 std::get_if<leat::file_source<leat::csv_reader>>(&source.from)) {
    if (csv->reader.skip_header_records == 0)
      s.add_error("header = true requires skip_header_records of at least 1 in [source]");
  } else {
    s.add_error("header",
                "only a source of format \"csv\" or \"lines\" has a header: give the header line");
  }
}

// Checks that the last stage fits the source, if it decodes CSV.
void check_csv(toml_table& s, const pipeline_plan& plan) {
  const auto* const decoder = std::get_if<decoder_plan>(&plan.stages.back().what);
  if (!decoder || !decoder->csv) return;
  if (decoder->for_header) check_header(s, plan.source);
  const auto* const source = std::get_if<leat::file_source<leat::csv_reader>>(&plan.source.from);
  if (!source) return;
  if (source->reader.delimiter != decoder->csv->delimiter)
    s.add_error("delimiter", "give the delimiter that [source] has");
  if (source->reader.quotes != decoder->csv->quotes)
    s.add_error("quotes", "give the value that [source] has");
}

// Returns the table of this name, or an empty one.
const toml_value* find_table(const toml_value& document, std::string_view name) {
  static const toml_value none{toml_value::table(), {}};
  for (const toml_value::entry& e : *document.as<toml_value::table>()) {
    if (e.key == name) return &e.value;
  }
  return &none;
}

}  // namespace

std::string_view name_of(element_kind kind) noexcept {
  switch (kind) {
    case element_kind::records: return "records";
    case element_kind::lines: return "lines";
    case element_kind::record_batches: return "batches of records";
    case element_kind::line_batches: return "batches of lines";
    case element_kind::columns: return "batches of columns";
  }
  return {};
}

const std::string& stage_plan::name() const {
  return std::visit([](const auto& stage) -> const std::string& { return stage.name; }, what);
}

element_kind pipeline_plan::output_kind() const noexcept {
  if (!stages.empty()) return stages.back().output_kind;
  return source.format == "lines" ? element_kind::lines : element_kind::records;
}

bool pipeline_plan::is_batched() const noexcept { return is_batch(output_kind()); }

std::vector<column_info> pipeline_plan::columns() const {
  for (const stage_plan& stage : stages) {
    if (const auto* const d = std::get_if<decoder_plan>(&stage.what)) return d->columns;
  }
  return {};
}

std::size_t pipeline_plan::workers() const noexcept {
  std::size_t sum = source.readers();
  for (const stage_plan& stage : stages) {
    if (const auto* const d = std::get_if<decoder_plan>(&stage.what)) sum += d->workers;
  }
  return sum;
}

stage_plan read_stage(toml_table& s, element_kind input) {
  static const std::map<std::string, int> kinds{{"shuffle", 0},      {"batch", 0},
                                                {"prefetch", 0},     {"parse_csv", 0},
                                                {"decode_raw", 0},   {"parse_sequence_example", 0},
                                                {"parse_example", 0}};
  stage_plan stage;
  stage.where = s.where();
  stage.output_kind = input;
  const std::string* const kind = s.choose_name("kind", kinds);
  if (!kind) return stage;
  s.rename(s.title() + " of kind '" + *kind + "'");
  if (*kind == "shuffle") {
    stage.what = read_shuffle(s, stage.text);
  } else if (*kind == "batch") {
    stage.what = read_batch(s, stage.output_kind, stage.text);
  } else if (*kind == "prefetch") {
    stage.what = read_prefetch(s, stage.text);
  } else {
    stage.what = read_columns(s, *kind, stage.output_kind, stage.text);
  }
  s.reject_unknown_keys();
  return stage;
}

output_plan read_output(toml_table& s, const plan_overrides& overrides, const pipeline_plan& plan) {
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

pipeline_plan make_plan(const toml_value& document, const plan_overrides& overrides,
                        toml_errors& found) {
  pipeline_plan plan;
  toml_table whole(document, std::string(document_title), found);
  const auto part = [&](const char* name) {
    static_cast<void>(whole.find(name));
    return toml_table(*find_table(document, name), fmt::format("[{}]", name), found);
  };
  toml_table options = part("pipeline");
  read_options(options, plan);
  if (whole.require("source", "a table [source]")) {
    toml_table source = part("source");
    plan.source = read_source(source, overrides.files);
  }
  element_kind kind = plan.output_kind();
  for (toml_table& s : whole.tables("stage", "stage")) {
    plan.stages.push_back(read_stage(s, kind));
    kind = plan.stages.back().output_kind;
    check_csv(s, plan);
  }
  toml_table output = part("output");
  plan.output = read_output(output, overrides, plan);
  whole.reject_unknown_keys();
  std::multimap<text_position, std::string> in_order;  // keeps the order at equal positions
  for (toml_error& m : found) in_order.emplace(m.where, std::move(m.text));
  found.clear();
  for (auto& [where, text] : in_order) found.push_back({where, std::move(text)});
  return plan;
}

}  // namespace tool
