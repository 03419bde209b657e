#include "input/input_options.hpp"

#include <cerrno>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <unistd.h>
#include <utility>

#include <fmt/format.h>

#include <leat/async/loop/sync_wait.hpp>
#include <leat/base/error.hpp>
#include <leat/io/file/file.hpp>
#include <leat/io/file/match_files.hpp>
#include <leat/io/index/tfrecord_index_file.hpp>

#include "option_names.hpp"
#include "terminal/numbers.hpp"
#include "terminal/output.hpp"
#include "terminal/text.hpp"

namespace tool {
namespace {

constexpr const char* standard_input = "/dev/stdin";

bool has_wildcard(const std::string& name) {
  return name.find_first_of("*?[") != std::string::npos;
}

}  // namespace

const policy_choices& damage_policies() {
  static const policy_choices all{
      {"fail", leat::corruption_policy::fail},
      {"skip", leat::corruption_policy::skip_record},
      {"resync", leat::corruption_policy::resync},
      {"skip-file", leat::corruption_policy::skip_file},
  };
  return all;
}

const compression_choices& compressions() {
  static const compression_choices all{
      {"auto", std::nullopt},
      {"none", leat::compression::none},
      {"zlib", leat::compression::zlib},
      {"gzip", leat::compression::gzip},
  };
  return all;
}

bool corruption_count::add(const leat::corruption_report& r) noexcept {
  if (r.transient) return false;
  ++regions;
  bytes += r.skipped;
  return true;
}

report_function make_corruption_reporter(corruption_count& sum) {
  return [&sum](const leat::corruption_report& r) {
    if (!sum.add(r)) return;
    print_error(fmt::format("{}, record {} at offset {}: {} ({} left out)", display_path(r.path),
                            r.index, r.offset, r.what, size_text(r.skipped)));
  };
}

void input_options::add_to(CLI::App& command, bool with_policy) {
  this->command = &command;
  as_path(command.add_option("FILE", names,
                             "Files; '-' is standard input, and so is none.\n"
                             "A quoted pattern such as 'data/*.tfrecord' is matched"))
      ->type_name("");
  add_choice(command, "--compression", compression, compressions(),
             "auto, none, zlib or gzip; auto: told by the first bytes")
      ->type_name("HOW");
  as_size(command.add_option("--max-record-size", max_record_size,
                             "A larger record is damage; 1 GiB unless told otherwise"),
          1);
  as_number(
      command.add_option("--max-ratio", max_ratio,
                         "What is inflated to more than so many times its compressed size is\n"
                         "refused, beyond the first 16 MiB; 256 unless told otherwise"),
      1);
  if (!with_policy) return;
  add_choice(command, "--on-damage", on_damage, damage_policies(),
             "What follows a damaged record. fail: nothing; skip: the next one,\n"
             "where that is known; resync: the next whole one that is found;\n"
             "skip-file: the next file")
      ->type_name("WHAT");
  add_max_held_to(command);
}

void input_options::add_max_held_to(CLI::App& command) {
  as_size(command.add_option("--max-held", max_held,
                             "In what is compressed, or a pipe, a search behind damage passes\n"
                             "over larger records; 16 MiB unless told otherwise"));
}

report_function input_options::wrap_report_function(report_function on_report) const {
  if (!on_report) return on_report;
  return [command = command, on_report = std::move(on_report)](const leat::corruption_report& r) {
    leat::corruption_report report = r;
    report.what = with_option_names(r.what, *command);
    on_report(report);
  };
}

leat::tfrecord_reader_options input_options::make_reader_options(report_function on_report) const {
  leat::tfrecord_reader_options options;
  options.max_record_size = max_record_size;
  set_reader_options(options, std::move(on_report));
  return options;
}

std::vector<std::string> expand_paths(const std::vector<std::string>& names) {
  if (names.empty()) return {resolve_path("-")};
  std::vector<std::string> paths;
  for (const std::string& name : names) {
    std::error_code ignored;
    if (name == "-") {
      paths.push_back(resolve_path(name));
    } else if (!has_wildcard(name) || std::filesystem::exists(name, ignored)) {
      paths.push_back(name);
    } else {
      leat::match_options options;
      options.regular_only = true;
      std::vector<std::string> matches = leat::sync_wait(leat::match_files({name}, options));
      if (matches.empty()) {
        throw leat::failure(leat::errc::not_found, name + ": no file matches this pattern");
      }
      for (std::string& match : matches) paths.push_back(std::move(match));
    }
  }
  return leat::sync_wait(leat::exclude_tfrecord_indexes(std::move(paths)));
}

std::string resolve_path(std::string name) {
  if (name != "-") return name;
  // Opened by its path anew, what stands in the place of a closed one could be read: as empty.
  const int flags = ::fcntl(STDIN_FILENO, F_GETFL);
  if (flags < 0 || (flags & O_ACCMODE) == O_WRONLY) {
    throw std::system_error(EBADF, std::generic_category(), "standard input: cannot read");
  }
  return standard_input;
}

bool is_standard_input(std::string_view path) { return path == standard_input; }

std::string display_path(std::string_view path) {
  return std::string(is_standard_input(path) ? "-" : path);
}

std::string with_display_path(std::string message) {
  const std::size_t end = std::string_view(standard_input).size();
  const bool is_one = message.starts_with(standard_input) && message.find_first_of(":,") == end;
  return is_one ? display_path(standard_input) + message.substr(end) : message;
}

CLI::Option* as_path(CLI::Option* option) {
  const auto reject_empty = [](const std::string& path) {
    return path.empty() ? std::string("give a path, not ''") : std::string();
  };
  return option->check(CLI::Validator(reject_empty, ""))->type_name("PATH");
}

leat::task<std::optional<leat::compression>> detect_compression(std::string path,
                                                                const input_options& how) {
  if (how.compression) co_return how.compression;
  leat::file f = co_await leat::file::open(std::move(path));
  if (!f.status().is_regular) co_return std::nullopt;
  std::vector<std::byte> beginning(leat::compression_sample_size);
  beginning.resize(co_await f.read_at(0, beginning));
  if (f.status().size == 0 && !beginning.empty()) co_return std::nullopt;  // such as in /proc
  co_return leat::detect_tfrecord_compression(beginning);
}

namespace {

// By its name or by the first bytes of gzip. Those of zlib may be a length as well.
bool is_compressed(const std::string& path) {
  if (guess_format(path).compression != leat::compression::none) return true;
  std::ifstream file(path, std::ios::binary);
  return file.get() == 0x1f && file.get() == 0x8b;
}

}  // namespace

std::uint64_t bytes_of(const std::vector<std::string>& paths) {
  std::uint64_t bytes = 0;
  for (const std::string& path : paths) {
    std::error_code error;
    const std::uintmax_t size = std::filesystem::file_size(path, error);
    if (error) continue;
    if (is_compressed(path)) return 0;
    bytes += size;
  }
  return bytes;
}

}  // namespace tool
