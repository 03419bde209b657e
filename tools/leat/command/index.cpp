// leat index: makes index files, and checks them.

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
  std::string state;  // "present", "made"; with --check "missing", or what is wrong
  leat::tfrecord_index index;

  [[nodiscard]] bool fits() const noexcept { return state == "present" || state == "made"; }
};

// The index that is there; empty, and why, where none fits.
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
  // A file that is not there is an error in itself, not a lack of an index.
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
                            r.state == "made" ? "made" : "is there already",
                            count_text(r.index.size(), "record")));
  } else if (missing) {
    p.out.write(fmt::format("{} {}\n", paint.bad("missing"), escape_controls(r.index_path)));
  } else {
    p.out.write(
        fmt::format("{} {}\n", paint.bad("unfit  "), escape_controls(r.state)));  // names the index
  }
}

void run_index(const index_options& options, program& p) {
  const std::vector<std::string> paths = expand_paths(options.names);
  for (const std::string& path : paths) {
    if (is_standard_input(path)) {
      throw usage_error("index needs the names of files: in standard input no record has a place");
    }
  }
  if (paths.size() > 1 && (!options.output.empty() || options.dali)) {
    throw usage_error("--output and --dali are for one file");
  }
  if (options.dali && (options.check || p.json)) {
    throw usage_error("--dali prints the index: not together with --check or --json");
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
  CLI::App* command = add_command(
      app, p, "index", "Make the index files of TFRecord files, for random access and counts");
  const auto options = std::make_shared<index_options>();
  as_path(command->add_option("FILE", options->names,
                              "TFRecord files that are not compressed, or patterns"))
      ->required()
      ->type_name("");
  as_path(
      command->add_option("-o,--output", options->output, "Where the index goes; else FILE.index"));
  command->add_flag("--check", options->check,
                    "Make none; say whether each file has one that fits");
  command->add_flag("-f,--force", options->force, "Make each anew, also where one fits");
  command->add_flag("--dali", options->dali,
                    "Print it as tfrecord2idx of NVIDIA DALI does, and save none");
  command->callback([options, &p] { p.run = [options, &p] { run_index(*options, p); }; });
}

}  // namespace tool
