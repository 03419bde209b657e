// leat index: creates and checks index files.

#include <memory>
#include <optional>

#include <fmt/format.h>

#include <leat/base/error.hpp>
#include <leat/io/index/tfrecord_index_file.hpp>

#include "command/commands.hpp"
#include "input/for_each_file.hpp"
#include "input/paths.hpp"
#include "output/record_sink.hpp"
#include "terminal/option_types.hpp"
#include "terminal/text.hpp"

namespace tool {
namespace {

struct index_options {
  std::vector<std::string> names;
  std::string output;
  bool check = false;
  bool force = false;
  bool dali = false;
};

struct indexed {
  std::string index_path;
  std::string state;  // "present", "made"; with --check also "missing", or an error
  leat::tfrecord_index index;

  [[nodiscard]] bool fits() const noexcept { return state == "present" || state == "made"; }
};

// Loads the index file. If it cannot be used, returns nothing and sets `why`.
leat::task<std::optional<leat::tfrecord_index>> load(std::string path, std::string index_path,
                                                     std::string& why) {
  try {
    co_return co_await leat::load_tfrecord_index(std::move(path), std::move(index_path));
  } catch (const leat::failure& e) {
    const bool missing = e.code() == leat::errc::not_found;
    const bool unfit = e.code() == leat::errc::failed_precondition ||
                       e.code() == leat::errc::data_loss || e.code() == leat::errc::unimplemented ||
                       e.code() == leat::errc::invalid_argument;
    if (!missing && !unfit) throw;
    why = missing ? "missing" : e.what();
  }
  co_return std::nullopt;
}

leat::task<indexed> index_file(std::string path, const index_options& options) {
  indexed result;
  result.index_path = options.output.empty() ? leat::tfrecord_index_path(path) : options.output;
  // A missing file is an error, and differs from a missing index.
  co_await leat::get_status(path);
  std::optional<leat::tfrecord_index> there;
  if (!options.force || options.check) {
    there = co_await load(path, result.index_path, result.state);
  }
  if (there) {
    result.index = *std::move(there);
    result.state = "present";
  } else if (!options.check) {
    result.index = co_await leat::build_tfrecord_index(path);
    result.state = "made";
    if (!options.dali) {
      co_await leat::save_tfrecord_index(path, result.index, result.index_path);
    }
  }
  co_return result;
}

void print_for_dali(const leat::tfrecord_index& index, program& p) {
  for (std::uint64_t i = 0; i < index.size(); ++i) {
    const auto [offset, size] = index[i];
    p.out.write(fmt::format("{} {}\n", offset, size + leat::tfrecord_overhead));
  }
}

void print(const std::string& path, const indexed& r, program& p, const palette& paint) {
  const bool missing = r.state == "missing";
  if (p.json) {
    json line{{"path", path}, {"index", r.index_path}};
    line["state"] = r.fits() || missing ? r.state : "unfit";
    if (r.fits()) {
      line["records"] = r.index.size();
    } else if (!missing) {
      line["message"] = r.state;
    }
    p.out.write_line(line);
  } else if (r.fits()) {
    p.out.write(fmt::format("{} {}: {}, {}\n", paint.good("ok     "), escape_controls(r.index_path),
                            r.state == "made" ? "created" : "already present",
                            count_text(r.index.size(), "record")));
  } else if (missing) {
    p.out.write(fmt::format("{} {}\n", paint.bad("missing"), escape_controls(r.index_path)));
  } else {
    p.out.write(fmt::format("{} {}\n", paint.bad("unfit  "),
                            escape_controls(r.state)));  // contains the path of the index
  }
}

void run_index(const index_options& options, program& p) {
  const std::vector<std::string> paths = expand_paths(options.names);
  for (const std::string& path : paths) {
    if (is_standard_input(path)) {
      throw usage_error("standard input cannot have an index: give the name of a file");
    }
  }
  if (paths.size() > 1 && (!options.output.empty() || options.dali)) {
    throw usage_error(fmt::format("--output and --dali accept one file, not {}", paths.size()));
  }
  if (options.dali && (options.check || p.json)) {
    throw usage_error("--dali cannot be combined with --check or --json");
  }
  if (!options.output.empty() && !options.check) {
    throw_if_replaced(paths.front(), {.path = options.output});
  }
  const palette paint(p.color);
  const auto work = [&options](std::string path) { return index_file(std::move(path), options); };
  const auto done = [&](const std::string& path, const indexed& r) {
    if (!r.fits()) p.set_status(status::data);
    if (options.dali) {
      print_for_dali(r.index, p);
    } else {
      print(path, r, p, paint);
    }
  };
  file_loop<indexed>(p, paths, work, done).run();
}

}  // namespace

void add_index(CLI::App& app, program& p) {
  CLI::App* command = add_command(app, p, "index", "Create index files of TFRecord files");
  const auto options = std::make_shared<index_options>();
  as_path(command->add_option("FILE", options->names,
                              "Uncompressed TFRecord files, or quoted patterns"))
      ->required()
      ->type_name("");
  as_path(command->add_option("-o,--output", options->output,
                              "Write the index of a single file to PATH (default: FILE.index)"));
  command->add_flag("--check", options->check,
                    "Create no index; print whether each file has a matching one");
  command->add_flag("-f,--force", options->force, "Recreate each index file, even if it matches");
  command->add_flag("--dali", options->dali,
                    "Print the index like tfrecord2idx of NVIDIA DALI; save no file\n\n"
                    "Each line has the offset and the size of a record, including its frame.");
  command->callback([options, &p] { p.run = [options, &p] { run_index(*options, p); }; });
}

}  // namespace tool
