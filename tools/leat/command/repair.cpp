// leat repair: copies the intact records of a damaged file to a new one.

#include <cerrno>
#include <filesystem>
#include <memory>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

#include <fmt/format.h>

#include <leat/base/error.hpp>
#include <leat/io/writer/tfrecord_appender.hpp>

#include "command/commands.hpp"
#include "input/corruption_count.hpp"
#include "input/file_probe.hpp"
#include "input/input_options.hpp"
#include "input/paths.hpp"
#include "output/record_sink.hpp"
#include "terminal/option_types.hpp"
#include "terminal/progress.hpp"
#include "terminal/signals.hpp"
#include "terminal/text.hpp"

namespace tool {
namespace {

struct repair_options {
  input_options files;
  std::string output;
  bool in_place = false;
  bool roll_back = false;
};

// A file that will be replaced: its real path, with all links resolved.
struct old_file {
  std::string path;
  file_access access;
};

old_file find_old(const std::string& path) {
  std::error_code error;
  const bool link = std::filesystem::is_symlink(path, error);
  old_file old{link ? std::filesystem::canonical(path, error).string() : path, {}};
  struct stat status{};
  if (error || ::stat(old.path.c_str(), &status) != 0) {
    throw std::system_error(error ? error : std::error_code(errno, std::generic_category()),
                            path + ": cannot get the status");
  }
  if (!S_ISREG(status.st_mode)) {
    throw leat::failure(leat::errc::failed_precondition,
                        path + ": not a regular file: use --output instead of --in-place");
  }
  old.access = {status.st_mode & mode_t{07777}, status.st_uid, status.st_gid};
  return old;
}

struct repaired {
  std::string output;
  copy_totals whole;
  corruption_count lost;
  std::string kept;  // the new name of the damaged file; empty if it was not renamed
};

// A limit on the search for a free name.
constexpr int max_kept_files = 1000;

// A second name (a hard link) for a file that will be replaced. The destructor removes it, unless
// stay() was called after the file was replaced.
class kept_file {
 public:
  // Links FILE.damaged, or FILE.damaged1, ... if that exists; link() never replaces a file.
  explicit kept_file(const std::string& path) {
    for (int i = 0;; ++i) {
      path_ = path + ".damaged" + (i > 0 ? std::to_string(i) : std::string());
      if (::link(path.c_str(), path_.c_str()) == 0) return;
      if (errno == EEXIST && i < max_kept_files) continue;
      throw std::system_error(
          errno, std::generic_category(),
          path + ": cannot keep it as " + path_ + ": use --output instead of --in-place");
    }
  }
  kept_file(const kept_file&) = delete;
  kept_file& operator=(const kept_file&) = delete;
  ~kept_file() {
    if (!stays_) ::unlink(path_.c_str());
  }

  std::string stay() {
    stays_ = true;
    return path_;
  }

 private:
  std::string path_;
  bool stays_ = false;
};

// Replaces a damaged file by the new one.
leat::task<> replace(const std::string& path, record_sink& sink, repaired& result) {
  kept_file old(path);
  co_await sink.close();
  result.kept = old.stay();
}

// Uses the compression of the original file.
leat::task<> copy_whole_records(std::string path, const repair_options& options, output& out,
                                progress& shown, repaired& result) {
  sink_options to;
  to.path = result.output = options.output;
  if (options.in_place) {
    old_file old = find_old(path);
    result.output = path;
    to.path = path = std::move(old.path);
    to.access = old.access;
  }
  const auto compression = co_await options.files.compression_of(path);
  to.compression = compression.value_or(leat::compression::none);
  leat::tfrecord_reader_options how =
      options.files.make_reader_options(make_corruption_reporter(result.lost));
  how.corruption.policy = leat::corruption_policy::resync;
  const auto reader = co_await leat::tfrecord_reader::open(path, std::move(how));
  const std::unique_ptr<record_sink> sink = co_await open_sink(std::move(to), out);
  co_await copy_records(*reader, *sink, shown, result.whole);
  if (result.whole.records == 0 && result.lost.regions > 0) {
    throw leat::failure(leat::errc::data_loss,
                        tool::display_path(path) + ": no intact record found: output not written");
  }
  if (!options.in_place) {
    co_await sink->close();
  } else if (result.lost.regions > 0) {  // an intact file is not touched
    co_await replace(path, *sink, result);
  }
}

void print(const std::string& path, const repaired& r, program& p) {
  const palette paint(p.color);
  const std::string records = count_text(r.whole.records, "record");
  if (p.json) {
    json line{{"path", display_path(path)},
              {"output", r.output},
              {"records", r.whole.records},
              {"damaged", r.lost.regions},
              {"lost_bytes", r.lost.bytes}};
    if (!r.kept.empty()) line["kept"] = r.kept;
    p.out.write_line(line);
  } else if (r.output == "-") {
    return;
  } else if (r.lost.regions == 0) {
    p.out.write(fmt::format("{} {}: {}, no damage found\n", paint.good("ok      "),
                            escape_controls(r.output), records));
  } else {
    std::string text = fmt::format("{} {}: {}; skipped: {} in {}", paint.doubtful("repaired"),
                                   escape_controls(r.output), records, size_text(r.lost.bytes),
                                   count_text(r.lost.regions, "place"));
    if (!r.kept.empty()) text += "; original kept as " + escape_controls(r.kept);
    p.out.write(text + "\n");
  }
}

void run_copy(const repair_options& options, const std::string& path, program& p) {
  if (options.output.empty() == !options.in_place) {
    throw usage_error("give either --output PATH or --in-place");
  }
  if (options.in_place && is_standard_input(path)) {
    throw usage_error("--in-place cannot replace standard input: use --output");
  }
  if (!options.in_place) throw_if_replaced(path, {.path = options.output});
  if (options.output == "-" && p.json) {
    throw usage_error("--json cannot be combined with output to '-': both use standard output");
  }
  if (options.in_place) ::umask(077);  // protects the new file until its mode is set
  progress shown_progress("repair", bytes_of({path}), p.quiet);
  repaired result;
  run_until_signal(
      1, [&] { return copy_whole_records(path, options, p.out, shown_progress, result); });
  // The damage is reported, but the repair succeeded: the status stays 0.
  print(path, result, p);
}

leat::task<> roll_back(std::string path, bool& done) {
  done = co_await leat::roll_back_append(std::move(path));
}

void run_roll_back(const std::string& path, program& p) {
  bool done = false;
  run_until_signal(1, [&] { return roll_back(path, done); });
  if (p.json) {
    p.out.write_line(json{{"path", path}, {"rolled_back", done}});
  } else {
    p.out.write(fmt::format("{}: {}\n", escape_controls(path),
                            done ? "interrupted append undone" : "no interrupted append found"));
  }
}

void run_repair(const repair_options& options, program& p) {
  const std::vector<std::string> paths = expand_paths(options.files.names);
  if (paths.size() != 1)
    throw usage_error(fmt::format("repair accepts one file, not {}", paths.size()));
  if (!options.roll_back) return run_copy(options, paths.front(), p);
  if (options.in_place || !options.output.empty() || is_standard_input(paths.front())) {
    throw usage_error(
        "--roll-back requires a FILE and cannot be combined with --output or --in-place");
  }
  run_roll_back(paths.front(), p);
}

}  // namespace

void add_repair(CLI::App& app, program& p) {
  CLI::App* command =
      add_command(app, p, "repair", "Copy the intact records of a damaged TFRecord file");
  const auto options = std::make_shared<repair_options>();
  options->files.add_to(*command, false);
  options->files.add_max_held_to(*command);
  as_path(command->add_option("-o,--output", options->output,
                              "Write the new file to PATH; - is standard output"));
  command->add_flag("--in-place", options->in_place,
                    "Replace the file atomically if it is damaged\n\n"
                    "The original file is kept next to it as FILE.damaged, or as FILE.damaged1 and "
                    "so on if that name exists; no file is overwritten. A file system without hard "
                    "links does not support this option, and nothing is changed. If FILE is a "
                    "symbolic link, its target is replaced. The new file has the mode, the owner "
                    "and the group of the original file. If these cannot be set, nothing is "
                    "changed.");
  command->add_flag("--roll-back", options->roll_back,
                    "Undo an interrupted append instead\n\n"
                    "This truncates the file to its state before the append.");
  command->callback([options, &p] { p.run = [options, &p] { run_repair(*options, p); }; });
}

}  // namespace tool
