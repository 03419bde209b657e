// leat count: counts records.

#include <memory>

#include <fmt/format.h>

#include "command/commands.hpp"
#include "input/file_summary.hpp"
#include "input/for_each_file.hpp"
#include "input/input_options.hpp"
#include "input/paths.hpp"
#include "terminal/text.hpp"

namespace tool {
namespace {

struct count_options {
  input_options files;
  bool no_index = false;
};

void add_numbers(json& to, const file_summary& s) {
  to["records"] = s.records;
  to["payload_bytes"] = s.payload_bytes;
  to["file_bytes"] = s.file_bytes;
}

void run_count(const count_options& options, program& p) {
  const std::vector<std::string> paths = expand_paths(options.files.names);
  file_summary total;
  const auto work = [&options](std::string path) {
    return summarize_file(std::move(path), options.files, !options.no_index, false);
  };
  const auto done = [&](const std::string& path, const file_summary& s) {
    total.records += s.records;
    total.payload_bytes += s.payload_bytes;
    total.file_bytes += s.file_bytes;
    if (p.json) {
      json line{{"path", display_path(path)}};
      add_numbers(line, s);
      line["source"] = s.source;
      p.out.write_line(line);
    } else {
      p.out.write(fmt::format("{:>12} {}\n", s.records, escape_controls(display_path(path))));
    }
  };
  file_loop<file_summary>(p, paths, work, done).run();
  if (p.json) {
    json sum;
    add_numbers(sum, total);
    p.out.write_line(json{{"total", std::move(sum)}});
  } else if (paths.size() > 1) {
    p.out.write(fmt::format("{:>12} total\n", total.records));
  }
}

}  // namespace

void add_count(CLI::App& app, program& p) {
  CLI::App* command = add_command(app, p, "count", "Count the records of TFRecord files");
  const auto options = std::make_shared<count_options>();
  options->files.add_to(*command, false);
  command->add_flag("--no-index", options->no_index,
                    "Read the files even if an index file matches");
  command->callback([options, &p] { p.run = [options, &p] { run_count(*options, p); }; });
}

}  // namespace tool
