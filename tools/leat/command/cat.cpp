// leat cat, leat head: print records.

#include <algorithm>
#include <exception>
#include <memory>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include <leat/async/task.hpp>
#include <leat/base/error.hpp>
#include <leat/io/index/tfrecord_file.hpp>
#include <leat/io/index/tfrecord_index_file.hpp>

#include "command/commands.hpp"
#include "input/corruption_count.hpp"
#include "input/example_text.hpp"
#include "input/file_summary.hpp"
#include "input/input_options.hpp"
#include "input/paths.hpp"
#include "terminal/numbers.hpp"
#include "terminal/signals.hpp"
#include "terminal/text.hpp"

namespace tool {
namespace {

using index_range = std::pair<std::uint64_t, std::uint64_t>;  // first and last

struct cat_options {
  input_options files;
  std::uint64_t first = 0;
  std::uint64_t count = UINT64_MAX;  // records of each file
  std::string records;               // "0,5-9"
  bool headings = false;             // print a heading if there are several files
  bool example = false;
  bool raw = false;
  bool null = false;
  bool keys = false;
  bool full = false;
  std::size_t values = 8;
};

std::uint64_t parse_number(std::string_view text, const std::string& list) {
  const std::optional<std::uint64_t> value = whole_number(text);
  if (!value)
    throw usage_error("--records: give indices and ranges such as 0,5-9,100, not '" + list + "'");
  return *value;
}

// Parses "0,5-9" to ranges, in the given order.
std::vector<index_range> parse_ranges(const std::string& list) {
  std::vector<index_range> ranges;
  for (std::size_t at = 0; at <= list.size();) {
    const std::size_t comma = std::min(list.find(',', at), list.size());
    const std::string_view part = std::string_view(list).substr(at, comma - at);
    const std::size_t dash = part.find('-');
    const std::uint64_t first = parse_number(part.substr(0, dash), list);
    const std::uint64_t last =
        dash == std::string_view::npos ? first : parse_number(part.substr(dash + 1), list);
    if (last < first)
      throw usage_error("--records: range '" + std::string(part) +
                        "' is descending: put the smaller index first");
    ranges.emplace_back(first, last);
    at = comma + 1;
  }
  return ranges;
}

// Prints records and corruption reports.
class printer {
 public:
  printer(program& p, const cat_options& options) : program_(p), options_(options) {}

  void print(leat::byte_view record, const leat::record_position& position) {
    const std::string_view payload = leat::as_text(record);
    if (program_.json) {
      print_json(payload, position);
    } else if (options_.example) {
      print_example(payload, position);
    } else {
      if (options_.keys) program_.out.write(key(position) + "\t");
      program_.out.write(options_.raw ? std::string(payload) : escape_text(payload));
      program_.out.write(options_.null ? std::string_view("\0", 1) : std::string_view("\n"));
    }
  }

  void heading(const std::string& path, bool first) {
    if (!options_.headings || program_.json) return;
    program_.out.write(
        fmt::format("{}==> {} <==\n", first ? "" : "\n", escape_controls(display_path(path))));
  }

  void flush() { program_.out.flush(); }

  // Reports skipped damage.
  void report(const leat::corruption_report& r) {
    if (r.transient) return;
    program_.out.flush();  // keeps the order of output and errors
    report_corruption_(r);
    program_.set_status(status::data);
    if (!program_.json) return;
    program_.out.write_line(json{{"path", display_path(r.path)},
                                 {"index", r.index},
                                 {"offset", r.offset},
                                 {"skipped", r.skipped},
                                 {"error", {{"code", "data_loss"}, {"message", r.what}}}});
  }

 private:
  [[nodiscard]] std::string key(const leat::record_position& position) const {
    const std::string path = display_path(position.path);
    return fmt::format("{}:{}", options_.raw ? path : escape_controls(path), position.offset);
  }

  void print_json(std::string_view payload, const leat::record_position& position) {
    json line{{"path", display_path(position.path)},
              {"index", position.index},
              {"offset", position.offset},
              {"size", payload.size()}};
    if (!options_.example) {
      const bool text = is_utf8(payload);
      line[text ? "text" : "base64"] = text ? std::string(payload) : base64(payload);
    } else {
      try {
        line["example"] = to_json(decode_example(payload));
      } catch (const leat::decode_error& e) {
        line["error"] = {{"code", "invalid_argument"}, {"message", refuse(e, position)}};
      }
    }
    program_.out.write_line(line);
  }

  void print_example(std::string_view payload, const leat::record_position& position) {
    try {
      const std::string text =
          to_text(decode_example(payload), options_.full ? SIZE_MAX : options_.values);
      program_.out.write(fmt::format("record {}, {}\n", position.index, size_text(payload.size())));
      program_.out.write(text);
    } catch (const leat::decode_error& e) {
      program_.out.flush();
      print_error(refuse(e, position));
    }
  }

  // Returns the message for a record that is not an Example.
  std::string refuse(const leat::decode_error& e, const leat::record_position& position) {
    program_.set_status(status::data);
    return message_of(e.at(fmt::format("{}, record {} at offset {}", display_path(position.path),
                                       position.index, position.offset)));
  }

  program& program_;
  const cat_options& options_;
  corruption_count corruption_;
  const report_function report_corruption_ = make_corruption_reporter(corruption_);
};

leat::task<> print_in_order(const cat_options& options, std::string path, printer& to) {
  leat::tfrecord_reader_options how =
      options.files.make_reader_options([&to](const leat::corruption_report& r) { to.report(r); });
  const auto reader = co_await leat::tfrecord_reader::open(std::move(path), std::move(how));
  leat::record_batch batch;
  std::uint64_t left = options.count;
  while (left > 0) {
    const bool more = co_await reader->read_batch(batch);
    if (!more) break;
    for (std::size_t i = 0; left > 0 && i < batch.size(); ++i) {
      const leat::record_position position = batch.position(i);
      if (position.index < options.first) continue;
      to.print(batch[i], position);
      --left;
    }
    if (reader->status().is_stream) to.flush();  // more may come late
  }
}

// Loads the index file if it matches, or else builds a temporary index: cat creates no files.
leat::task<leat::tfrecord_index> find_or_build_index(std::string path) {
  std::optional<leat::tfrecord_index> index = co_await find_index(path);
  if (!index) index = co_await leat::build_tfrecord_index(path);
  co_return *std::move(index);
}

leat::task<> print_selected(const cat_options& options, std::vector<index_range> ranges,
                            std::string path, printer& to) {
  leat::tfrecord_index index = co_await find_or_build_index(path);
  leat::tfrecord_file_options how;
  how.max_record_size = options.files.max_record_size;
  const auto file = co_await leat::tfrecord_file::open(std::move(path), std::move(index), how);
  for (const auto& [first, last] : ranges) {
    if (last >= file->size()) {
      throw leat::failure(leat::errc::out_of_range,
                          fmt::format("{}: record {} is out of range: the file has {}",
                                      file->path(), last, count_text(file->size(), "record")));
    }
    for (std::uint64_t i = first; i <= last; ++i) {
      const leat::owned_record record = co_await file->at(i);
      to.print(record, record.position());
    }
  }
}

// Prints one file after the other. A file that cannot be read does not keep the next ones from
// being printed; after a signal, the records that have been printed are written out.
leat::task<> print_files(const cat_options& options, const std::vector<index_range>& ranges,
                         const std::vector<std::string>& paths, program& p) {
  printer to(p, options);
  for (const std::string& path : paths) {
    if (paths.size() > 1) to.heading(path, path == paths.front());
    std::exception_ptr error;
    try {
      if (options.records.empty()) {
        co_await print_in_order(options, path, to);
      } else {
        co_await print_selected(options, ranges, path, to);
      }
    } catch (const ended_by_signal&) {
      throw;
    } catch (...) {
      error = std::current_exception();
    }
    if (!error) continue;
    if (leat::to_error_code(error) == leat::errc::cancelled) {
      p.out.flush();
      std::rethrow_exception(error);
    }
    p.report(path, describe(error));
  }
}

void run_cat(const cat_options& options, program& p) {
  const std::vector<index_range> ranges =
      options.records.empty() ? std::vector<index_range>() : parse_ranges(options.records);
  if (options.raw && (options.example || p.json)) {
    throw usage_error("--raw cannot be combined with --example or --json");
  }
  const std::vector<std::string> paths = expand_paths(options.files.names);
  run_until_signal(1, [&] { return print_files(options, ranges, paths, p); });
}

void add_printing(CLI::App& command, cat_options& o) {
  command.add_flag("--example", o.example,
                   "Decode each record as a tf.train.Example\n\n"
                   "Print the names, types and values of its features. A tf.train.SequenceExample "
                   "is decoded too; each step of a feature list is printed with its number after "
                   "the name.");
  as_number(command.add_option("--values", o.values,
                               "Print at most N values of each feature (default: 8)\n\n"
                               "Of each text, print at most eight times N bytes."));
  command.add_flag("--full", o.full, "Print all values, and all bytes of each value");
  command.add_flag("--raw", o.raw, "Print the bytes of each record unchanged, then a newline");
  command.add_flag("-0,--null", o.null, "Print a zero byte after each record instead of a newline");
  command.add_flag("-k,--keys", o.keys, "Print path:offset and a tab before each record");
}

}  // namespace

void add_cat(CLI::App& app, program& p) {
  CLI::App* command = add_command(app, p, "cat", "Print the records of TFRecord files");
  const auto options = std::make_shared<cat_options>();
  options->files.add_to(*command, true);
  as_number(command->add_option("-n,--max-count", options->count,
                                "Print at most N records of each file"));
  as_number(command->add_option("--from", options->first,
                                "Start at record INDEX; the first record has index 0"))
      ->type_name("INDEX");
  command
      ->add_option("--records", options->records,
                   "Print the records with these indices, in this order: 0,5-9,100\n\n"
                   "The command finds the records through the index file. If no index file matches "
                   "the file, it builds a temporary index and does not save it.")
      ->excludes("--from")
      ->excludes("--max-count")
      ->type_name("LIST");
  add_printing(*command, *options);
  command->callback([options, &p] { p.run = [options, &p] { run_cat(*options, p); }; });
}

void add_head(CLI::App& app, program& p) {
  CLI::App* command = add_command(app, p, "head", "Print the first records of TFRecord files");
  const auto options = std::make_shared<cat_options>();
  options->count = 10;
  options->headings = true;
  options->files.add_to(*command, true);
  as_number(command->add_option("-n,--records", options->count,
                                "Print at most N records of each file (default: 10)"));
  add_printing(*command, *options);
  command->callback([options, &p] { p.run = [options, &p] { run_cat(*options, p); }; });
}

}  // namespace tool
