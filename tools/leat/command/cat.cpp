// leat cat, leat head: the records themselves.

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
  std::uint64_t count = UINT64_MAX;  // of each file
  std::string records;               // "0,5-9"
  bool headings = false;             // over each of several files
  bool example = false;
  bool raw = false;
  bool null = false;
  bool keys = false;
  bool full = false;
  std::size_t values = 8;
};

std::uint64_t parse_number(std::string_view text, const std::string& list) {
  const std::optional<std::uint64_t> value = whole_number(text);
  if (!value) throw usage_error("--records " + list + ": write it as 0,5-9,100");
  return *value;
}

// "0,5-9" as ranges, in the order in which they stand there.
std::vector<index_range> parse_ranges(const std::string& list) {
  std::vector<index_range> ranges;
  for (std::size_t at = 0; at <= list.size();) {
    const std::size_t comma = std::min(list.find(',', at), list.size());
    const std::string_view part = std::string_view(list).substr(at, comma - at);
    const std::size_t dash = part.find('-');
    const std::uint64_t first = parse_number(part.substr(0, dash), list);
    const std::uint64_t last =
        dash == std::string_view::npos ? first : parse_number(part.substr(dash + 1), list);
    if (last < first) throw usage_error("--records " + list + ": a range goes upwards");
    ranges.emplace_back(first, last);
    at = comma + 1;
  }
  return ranges;
}

// Prints records, and what is wrong with some.
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

  // Of what was left out as damaged.
  void report(const leat::corruption_report& r) {
    if (r.transient) return;
    program_.out.flush();  // first what came before
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
    } else if (const auto example = try_decode_example(payload)) {
      line["example"] = to_json(*example);
    } else {
      line["error"] = {{"code", "invalid_argument"}, {"message", "this is no tf.train.Example"}};
      program_.set_status(status::data);
    }
    program_.out.write_line(line);
  }

  void print_example(std::string_view payload, const leat::record_position& position) {
    const auto example = try_decode_example(payload);
    if (!example) {
      program_.out.flush();
      print_error(fmt::format("{}, record {} at offset {}: this is no tf.train.Example",
                              display_path(position.path), position.index, position.offset));
      program_.set_status(status::data);
      return;
    }
    program_.out.write(fmt::format("record {}, {}\n", position.index, size_text(payload.size())));
    program_.out.write(to_text(*example, options_.full ? SIZE_MAX : options_.values));
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
  }
}

// The index beside the file that fits, or one made for the occasion: cat leaves no files behind.
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
                          fmt::format("{}: there is no record {}, the file has {}", file->path(),
                                      last, file->size()));
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
    throw usage_error("--raw shows the bytes as they are: not together with --example or --json");
  }
  const std::vector<std::string> paths = expand_paths(options.files.names);
  run_until_signal(1, [&] { return print_files(options, ranges, paths, p); });
}

void add_printing(CLI::App& command, cat_options& o) {
  command.add_flag("--example", o.example, "Decode each record as a tf.train.Example");
  as_number(command.add_option("--values", o.values,
                               "Show so many values of a feature; 8 unless told otherwise"));
  command.add_flag("--full", o.full, "Show all values, and all bytes of each");
  command.add_flag("--raw", o.raw, "The bytes as they are; else what is no text is escaped");
  command.add_flag("-0,--null", o.null, "A zero byte behind each record instead of a line's end");
  command.add_flag("-k,--keys", o.keys, "path:offset and a tab before each record");
}

}  // namespace

void add_cat(CLI::App& app, program& p) {
  CLI::App* command = add_command(app, p, "cat", "Print the records of TFRecord files");
  const auto options = std::make_shared<cat_options>();
  options->files.add_to(*command, true);
  as_number(command->add_option("-n,--max-count", options->count,
                                "At most so many records of each file"));
  as_number(
      command->add_option("--from", options->first, "Begin at this record; the first one is 0"))
      ->type_name("INDEX");
  command
      ->add_option("--records", options->records,
                   "These records, in this order: 0,5-9,100. Goes to them by the index")
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
                                "So many records of each file; 10 unless told otherwise"));
  add_printing(*command, *options);
  command->callback([options, &p] { p.run = [options, &p] { run_cat(*options, p); }; });
}

}  // namespace tool
