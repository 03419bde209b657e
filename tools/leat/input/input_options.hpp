#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <CLI/App.hpp>

#include <leat/async/task.hpp>
#include <leat/codec/compression/compression.hpp>
#include <leat/codec/compression/inflater.hpp>
#include <leat/io/reader/corruption.hpp>
#include <leat/io/reader/tfrecord_reader.hpp>

namespace tool {

/// What was left out as damaged.
struct corruption_count {
  std::uint64_t regions = 0;
  std::uint64_t bytes = 0;

  /// Counts a report; one that was transient does not count: false.
  bool add(const leat::corruption_report& r) noexcept;
};

using report_function = std::function<void(const leat::corruption_report&)>;

/// What --on-damage and --compression take; of the latter, empty is told by the first bytes.
using policy_choices = std::map<std::string, leat::corruption_policy>;
using compression_choices = std::map<std::string, std::optional<leat::compression>>;
[[nodiscard]] const policy_choices& damage_policies();
[[nodiscard]] const compression_choices& compressions();

/// The files of a command line, and how they are read.
struct input_options {
  std::vector<std::string> names;
  std::optional<leat::compression> compression;  ///< empty: told by the first bytes
  std::uint64_t max_record_size = std::uint64_t{1} << 30;
  leat::corruption_policy on_damage = leat::corruption_policy::fail;
  std::uint64_t max_held = leat::corruption_options().max_held;
  std::uint64_t max_ratio = leat::inflate_options().max_ratio;
  const CLI::App* command = nullptr;  ///< whose options these are

  /// Adds FILE... and the options for reading. `with_policy`: --on-damage and --max-held too.
  void add_to(CLI::App& command, bool with_policy);
  /// --max-held, of a command that searches behind damage.
  void add_max_held_to(CLI::App& command);

  /// Sets what all readers have in common. Each report goes to `on_report`.
  template <class Options>
  void set_reader_options(Options& how, report_function on_report) const {
    how.compression_type = compression;
    how.corruption.policy = on_damage;
    how.corruption.max_reports = UINT64_MAX;
    how.corruption.max_held = max_held;
    how.inflate.max_ratio = max_ratio;
    how.corruption.on_report = wrap_report_function(std::move(on_report));
  }

  /// Gives each report with the names of the command's options.
  [[nodiscard]] report_function wrap_report_function(report_function on_report) const;

  /// Options of a reader of TFRecord files.
  [[nodiscard]] leat::tfrecord_reader_options make_reader_options(
      report_function on_report = {}) const;
};

/// Complains of each report and counts it in `sum`, which must live as long as what is returned.
[[nodiscard]] report_function make_corruption_reporter(corruption_count& sum);

/// The paths that the names stand for: "-" is standard input, what is no file but has wildcards is
/// matched. Errors: leat::failure not_found for a pattern without a match.
[[nodiscard]] std::vector<std::string> expand_paths(const std::vector<std::string>& names);

/// The path that a name stands for: "-" is standard input. Errors: std::system_error if that is
/// closed.
[[nodiscard]] std::string resolve_path(std::string name);

/// What stands for standard input as a path.
[[nodiscard]] bool is_standard_input(std::string_view path);

/// The name under which people know a path.
[[nodiscard]] std::string display_path(std::string_view path);

/// A message of leat that begins with a path, with the name under which people know that.
[[nodiscard]] std::string with_display_path(std::string message);

/// The compression of a file: the one that was named, or what its first bytes tell. Empty for what
/// can only be read in sequence, such as a pipe.
[[nodiscard]] leat::task<std::optional<leat::compression>> detect_compression(
    std::string path, const input_options& how);

/// Bytes of all files, for a progress bar; 0 if one is compressed, because its contents have
/// another size.
[[nodiscard]] std::uint64_t bytes_of(const std::vector<std::string>& paths);

/// An option that takes the path of a file, or files': an empty one is refused.
CLI::Option* as_path(CLI::Option* option);

/// Adds an option that is one of a set of names. `choices` must live as long as the command.
template <class Value, class Choices>
CLI::Option* add_choice(CLI::App& command, const std::string& name, Value& to,
                        const Choices& choices, const std::string& what) {
  std::vector<std::string> names;
  for (const auto& [text, value] : choices) names.push_back(text);
  return command
      .add_option_function<std::string>(
          name, [&to, &choices](const std::string& text) { to = choices.at(text); }, what)
      ->check(CLI::IsMember(names).description(""));
}

}  // namespace tool
