// leat convert: converts records from one format to another.

#include <algorithm>
#include <fstream>
#include <initializer_list>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <utility>

#include <fmt/format.h>

#include <leat/base/error.hpp>
#include <leat/codec/decode_error.hpp>
#include <leat/io/reader/csv_reader.hpp>
#include <leat/io/reader/fixed_length_reader.hpp>
#include <leat/io/reader/line_reader.hpp>

#include "command/commands.hpp"
#include "input/corruption_count.hpp"
#include "input/csv_rows.hpp"
#include "input/file_probe.hpp"
#include "input/input_options.hpp"
#include "input/paths.hpp"
#include "output/csv_sink.hpp"
#include "output/record_sink.hpp"
#include "terminal/numbers.hpp"
#include "terminal/option_types.hpp"
#include "terminal/progress.hpp"
#include "terminal/signals.hpp"
#include "terminal/text.hpp"

namespace tool {
namespace {

struct convert_options {
  input_options files;
  std::optional<format> from;
  std::optional<format> to;
  std::optional<leat::compression> to_compression;
  std::size_t record_size = 0;  // of fixed records
  std::size_t header_size = 0;
  std::size_t footer_size = 0;
  std::size_t skip_lines = 0;
  std::optional<std::string> columns;  // of csv
  std::optional<std::string> select;   // of csv, by the names in its header
  bool no_quotes = false;
  char delimiter = ',';
  bool no_header = false;
  sink_options sink;
};

struct conversion_result {
  copy_totals all;
  corruption_count lost;
  std::vector<std::string> outputs;
};

// Converts the records of all files.
struct conversion {
  const convert_options& options;
  record_sink& sink;
  csv_sink* table;  // the sink, if it writes csv; else null
  progress& shown;
  conversion_result& result;

  // Adds the common options to the options of this kind of reader.
  template <class Options>
  [[nodiscard]] Options add_common_options(Options how) const {
    options.files.set_reader_options(how, make_corruption_reporter(result.lost));
    return how;
  }
};

template <class Reader>
leat::task<> copy_file_with(std::string path, typename Reader::options_type how,
                            const conversion& c) {
  const auto reader = co_await Reader::open(std::move(path), c.add_common_options(std::move(how)));
  co_await copy_records(*reader, c.sink, c.shown, c.result.all);
  const std::uint64_t left_over = reader->statistics().left_over;
  if (left_over == 0) co_return;
  c.result.lost.bytes += left_over;
  print_error(fmt::format("{}: incomplete last record: skipped {}", display_path(reader->path()),
                          count_text(left_over, "byte")));
}

// Returns the number of the line at an offset, from 1, or nothing if the file cannot be read again.
std::optional<std::uint64_t> line_at(const leat::csv_reader& reader, std::uint64_t offset) {
  if (!reader.status().is_regular || reader.is_compressed()) return std::nullopt;
  std::ifstream file(reader.path(), std::ios::binary);
  std::uint64_t line = 1;
  bool after_cr = false;
  for (char c = 0; offset > 0 && file.get(c); --offset) {
    if (after_cr || c == '\n') ++line;
    after_cr = c == '\r' && file.peek() != '\n';
  }
  if (after_cr) ++line;
  return file ? std::optional(line) : std::nullopt;
}

// The error of a record, with the line at which it begins.
[[noreturn]] void throw_row_error(const leat::csv_reader& reader, const leat::decode_error& e,
                                  const leat::record_position& position) {
  const std::string name = display_path(reader.path());
  const auto line = line_at(reader, position.offset);
  throw e.at(line ? fmt::format("{}, line {}", name, *line)
                  : leat::format_record_position({name, position.offset, position.index}));
}

[[noreturn]] void throw_reader_error(const leat::csv_reader& reader, const leat::failure& e,
                                     bool quotes) {
  std::string message = message_of(e);
  if (quotes && message.find(": quote in an unquoted field") != std::string::npos)
    message += "; if quotes have no meaning in this file, set --no-quotes";
  if (const auto line = line_at(reader, reader.position().offset))
    message += fmt::format("; the record begins in line {}", *line);
  throw leat::failure(e.code(), message);
}

leat::task<> write_example(const std::string& example, const conversion& c) {
  co_await c.sink.write(leat::as_bytes(example));
  ++c.result.all.records;
  c.result.all.payload_bytes += example.size();
}

// Writes the Examples of a batch of records. A blank line is a row only in a table of one column.
leat::task<> write_rows(const leat::csv_reader& reader, const leat::record_batch& batch,
                        csv_rows& rows, const conversion& c) {
  const std::span<const leat::byte_view> all(batch);
  for (std::size_t first = 0; first < all.size();) {
    const auto blank = std::ranges::find_if(all.subspan(first), &leat::byte_view::empty);
    auto count = static_cast<std::size_t>(blank - all.begin()) - first;
    std::vector<std::string> examples;
    try {
      if (count == 0) {
        count = 1;
        if (rows.field_count() == 1) examples.push_back(rows.convert_blank());
      } else if (rows.needs_header()) {
        count = 1;
        rows.read_header(leat::as_text(all[first]));
        if (c.table) c.table->name_columns(rows.columns());
      } else {
        examples = rows.convert(all.subspan(first, count));
      }
    } catch (const leat::decode_error& e) {
      throw_row_error(reader, e, batch.position(first + e.record()));
    }
    for (const std::string& example : examples) co_await write_example(example, c);
    first += count;
  }
}

leat::csv_reader_options make_csv_options(const convert_options& options) {
  leat::csv_reader_options how;
  how.skip_header_records = options.skip_lines;
  how.delimiter = options.delimiter;
  how.quotes = !options.no_quotes;
  how.skip_blank_lines = false;
  if (!options.files.command->get_option("--max-record-size")->empty())
    how.max_record_size = static_cast<std::size_t>(options.files.max_record_size);
  return how;
}

leat::task<> copy_rows(std::string path, const conversion& c) {
  const convert_options& o = c.options;
  const auto reader =
      co_await leat::csv_reader::open(std::move(path), c.add_common_options(make_csv_options(o)));
  csv_rows rows(o.columns ? parse_columns(*o.columns) : std::vector<csv_field>(),
                o.select ? parse_columns(*o.select, "--select") : std::vector<csv_field>(),
                {.delimiter = o.delimiter, .quotes = !o.no_quotes});
  if (c.table) c.table->name_columns(rows.columns());
  leat::record_batch batch;
  std::uint64_t shown = 0;
  for (bool more = true; more;) {
    try {
      more = co_await reader->read_batch(batch);
    } catch (const leat::failure& e) {
      if (e.code() != leat::errc::data_loss && e.code() != leat::errc::resource_exhausted) throw;
      throw_reader_error(*reader, e, !o.no_quotes);
    }
    co_await write_rows(*reader, batch, rows, c);
    if (reader->status().is_stream) co_await c.sink.flush();
    const std::uint64_t offset = reader->position().offset;
    c.shown.add(offset - std::exchange(shown, offset));
  }
}

format find_format(const std::string& path, const convert_options& options) {
  if (options.from) return *options.from;
  if (const auto guess = guess_format(path).records) return *guess;
  if (options.record_size > 0) return format::fixed;
  throw usage_error(display_path(path) + ": unknown format: set --from");
}

leat::fixed_length_reader_options make_fixed_length_options(const convert_options& options) {
  leat::fixed_length_reader_options how;
  how.record_size = options.record_size;
  how.header_size = options.header_size;
  how.footer_size = options.footer_size;
  return how;
}

leat::line_reader_options make_line_options(const convert_options& options) {
  leat::line_reader_options how;
  how.skip_header_lines = options.skip_lines;
  how.max_line_size = static_cast<std::size_t>(options.files.max_record_size);
  return how;
}

// Errors: usage_error for options that the reader of a file would reject.
void check_reading(const std::string& path, format what, const convert_options& options) {
  try {
    if (what == format::fixed) {
      leat::fixed_length_reader::check_options(make_fixed_length_options(options),
                                               display_path(path));
    } else if (what == format::csv) {
      leat::csv_reader::check_options(make_csv_options(options), display_path(path));
    } else if (what == format::lines) {
      leat::line_reader::check_options(make_line_options(options), display_path(path));
    }
  } catch (const leat::failure& e) {
    throw usage_error(message_of(e));
  }
}

leat::task<> copy_file(std::string path, const conversion& c) {
  if (c.table) c.table->start_file(display_path(path));
  leat::tfrecord_reader_options records;
  records.max_record_size = c.options.files.max_record_size;
  switch (find_format(path, c.options)) {
    case format::fixed:
      return copy_file_with<leat::fixed_length_reader>(path, make_fixed_length_options(c.options),
                                                       c);
    case format::lines:
      return copy_file_with<leat::line_reader>(path, make_line_options(c.options), c);
    case format::csv: return copy_rows(path, c);
    default: break;
  }
  return copy_file_with<leat::tfrecord_reader>(path, records, c);
}

leat::task<> convert_all(std::vector<std::string> paths, const convert_options& options, program& p,
                         progress& shown, conversion_result& result) {
  std::unique_ptr<record_sink> sink = co_await open_sink(options.sink, p.out);
  csv_sink* table = nullptr;
  if (options.sink.records == format::csv) {
    std::vector<csv_field> columns;
    if (options.columns) columns = parse_columns(*options.columns);
    auto made =
        std::make_unique<csv_sink>(std::move(sink), columns, options.delimiter, !options.no_header);
    table = made.get();
    sink = std::move(made);
  }
  const conversion c{options, *sink, table, shown, result};
  for (const std::string& path : paths) {
    p.reads_tfrecords = find_format(path, options) == format::tfrecord;
    co_await copy_file(path, c);
  }
  co_await sink->close();
  result.outputs = sink->paths();
}

// Rejects options for a format that is neither read nor written.
void reject_unused_options(const convert_options& options, const std::vector<std::string>& paths) {
  const auto reads = [&](format what) {
    return std::ranges::any_of(
        paths, [&](const std::string& path) { return find_format(path, options) == what; });
  };
  const auto require = [&options](bool used, std::initializer_list<const char*> names,
                                  std::string_view with) {
    for (const char* const name : names) {
      if (used || options.files.command->get_option(name)->empty()) continue;
      throw usage_error(fmt::format("{} applies only to {}", name, with));
    }
  };
  const sink_options& sink = options.sink;
  const bool from_csv = reads(format::csv);
  require(reads(format::fixed), {"--record-size", "--header-size", "--footer-size"},
          "fixed records");
  require(from_csv || reads(format::lines), {"--skip-lines"}, "lines or csv");
  require(from_csv || sink.records == format::csv, {"--columns", "--delimiter"}, "csv");
  require(from_csv, {"--select", "--no-quotes"}, "csv input");
  require(sink.compression != leat::compression::none, {"--level"}, "gzip or zlib output");
}

// Sets missing options of the sink according to the file name, and rejects contradictions.
void infer_options(convert_options& options, const std::vector<std::string>& paths) {
  sink_options& sink = options.sink;
  const format_guess guess = guess_format(sink.path);
  sink.records = options.to.value_or(guess.records.value_or(format::tfrecord));
  sink.compression = options.to_compression.value_or(guess.compression);
  const bool to_csv = sink.records == format::csv;
  if (options.no_header && !to_csv) throw usage_error("--no-header applies only to csv output");
  for (const std::string& path : paths) {
    const format what = find_format(path, options);
    if (what == format::fixed && options.record_size == 0) {
      throw usage_error(display_path(path) + ": fixed records need a size: set --record-size");
    }
    if (to_csv && what != format::tfrecord && what != format::csv) {
      throw usage_error(display_path(path) +
                        ": lines and fixed records have no columns: csv can be made only from "
                        "csv and from tf.train.Examples");
    }
    check_reading(path, what, options);
    throw_if_replaced(path, sink);
  }
  reject_unused_options(options, paths);
  if (sink.index && !sink.can_have_index()) {
    throw usage_error("--index applies only to uncompressed TFRecord files");
  }
}

void print(const conversion_result& r, const std::vector<std::string>& paths, program& p,
           bool to_stdout) {
  if (p.json) {
    json inputs = json::array();
    for (const std::string& path : paths) inputs.push_back(display_path(path));
    const json line{{"inputs", std::move(inputs)}, {"outputs", r.outputs},
                    {"records", r.all.records},    {"payload_bytes", r.all.payload_bytes},
                    {"damaged", r.lost.regions},   {"lost_bytes", r.lost.bytes}};
    p.out.write_line(line);
  } else if (!to_stdout) {
    p.out.write(written_text(r.all.records, r.outputs) + "\n");
  }
}

void run_convert(convert_options& options, program& p) {
  const std::vector<std::string> paths = expand_paths(options.files.names);
  const bool to_stdout = options.sink.path == "-";
  if (to_stdout && p.json)
    throw usage_error("--json cannot be combined with output to '-': both use standard output");
  infer_options(options, paths);
  progress shown_progress("convert", bytes_of(paths), p.quiet);
  conversion_result result;
  run_until_signal(1, [&] { return convert_all(paths, options, p, shown_progress, result); });
  if (result.lost.regions > 0 || result.lost.bytes > 0) p.set_status(status::data);
  print(result, paths, p, to_stdout);
}

const auto compression_names = [] {
  std::map<std::string, leat::compression> names;
  for (const auto& [name, type] : compressions()) {
    if (type) names.emplace(name, *type);
  }
  return names;
}();

char parse_delimiter(const std::string& text) {
  if (text == "tab" || text == "\\t") return '\t';
  if (text.size() == 1 && std::string_view("\"\r\n").find(text) == std::string_view::npos) {
    return text.front();
  }
  throw CLI::ValidationError("--delimiter",
                             "give one character other than a quote or a newline, or 'tab', not '" +
                                 escape_text(text) + "'");
}

void add_input_options(CLI::App& command, convert_options& o) {
  add_choice(command, "--from", o.from, written_formats(),
             "Read this format: tfrecord, lines, csv or fixed\n"
             "(default: from the file name)")
      ->type_name("FORMAT");
  as_size(command.add_option("--record-size", o.record_size,
                             "Set the size in bytes of each fixed record"));
  as_number(command.add_option("--header-size", o.header_size,
                               "Skip N bytes before the first fixed record"));
  as_number(command.add_option("--footer-size", o.footer_size,
                               "Skip N bytes after the last fixed record"));
  as_number(command.add_option("--skip-lines", o.skip_lines,
                               "Skip N lines, or records of csv, at the beginning of each file"));
  command
      .add_option("--columns", o.columns,
                  "Set the columns of csv: name:int64,name:float,name:bytes\n\n"
                  "The type bytes can be omitted.\n\n"
                  "When csv is read, LIST names all columns in the order of the file. If this "
                  "option is not set, the first line names the columns, and all have the type "
                  "bytes.\n\n"
                  "When csv is written, LIST selects the features and their order; other features "
                  "are omitted. A column without a type accepts a feature of any type. If this "
                  "option is not set, the columns are those that were read from csv, or all "
                  "features of the first record, sorted by name.")
      ->type_name("LIST");
  command
      .add_option("--select", o.select,
                  "Read only these columns of csv: name:int64,name\n\n"
                  "The names are those in the first line that is not skipped. --select cannot be "
                  "combined with --columns.")
      ->excludes("--columns")
      ->type_name("LIST");
  command.add_flag("--no-quotes", o.no_quotes,
                   "Treat quotes in csv input as ordinary characters\n\n"
                   "Each line is then a row.");
  command
      .add_option_function<std::string>(
          "--delimiter", [&o](const std::string& text) { o.delimiter = parse_delimiter(text); },
          "Separate the columns of csv by C, or by 'tab' (default: a comma)")
      ->type_name("C");
  command.add_flag("--no-header", o.no_header, "Write csv without the line that names the columns");
}

void add_output_options(CLI::App& command, convert_options& o) {
  as_path(command.add_option("-o,--output", o.sink.path,
                             "Write to the file PATH; - is standard output\n\n"
                             "With several output files, PATH is the beginning of their names, as "
                             "in PATH-00003-of-00010.tfrecord."))
      ->required();
  add_choice(command, "--to", o.to, written_formats(),
             "Write this format: tfrecord, lines, csv or fixed\n"
             "(default: from the file name, or tfrecord)")
      ->type_name("FORMAT");
  add_choice(command, "--to-compression", o.to_compression, compression_names,
             "Compress the output: none, zlib or gzip\n"
             "(default: from the file name, or none)")
      ->type_name("HOW");
  command.add_option("--level", o.sink.level, "Set the compression level, 0 to 9")
      ->check(CLI::Range(0, 9).description(""))
      ->type_name("N");
  command
      .add_option("--shards", o.sink.shards,
                  "Distribute the records over N files, 1 to 10000\n\n"
                  "The records are distributed in round-robin order.")
      ->check(CLI::Range(1, 10000).description(""))
      ->type_name("N");
  as_number(command.add_option("--max-records", o.sink.max_records,
                               "Start the next file after N records"),
            1);
  as_size(
      command.add_option("--max-bytes", o.sink.max_bytes, "Start the next file after SIZE bytes"));
  command.add_flag("--index", o.sink.index,
                   "Also create index files\n\n"
                   "Each index file appears under its name just before its file does.");
}

}  // namespace

void add_convert(CLI::App& app, program& p) {
  CLI::App* command =
      add_command(app, p, "convert", "Convert TFRecord files, lines, csv and fixed records");
  const auto options = std::make_shared<convert_options>();
  options->files.add_to(*command, true);
  add_input_options(*command, *options);
  add_output_options(*command, *options);
  command->callback([options, &p] { p.run = [options, &p] { run_convert(*options, p); }; });
}

}  // namespace tool
