#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <CLI/App.hpp>

#include <leat/async/task.hpp>
#include <leat/codec/compression/compression.hpp>
#include <leat/codec/compression/decompressor.hpp>
#include <leat/io/reader/corruption.hpp>
#include <leat/io/reader/tfrecord_reader.hpp>

#include "input/corruption_count.hpp"

namespace tool {

/// The values of --on-damage and --compression. A compression that is not set is detected.
using policy_choices = std::map<std::string, leat::corruption_policy>;
using compression_choices = std::map<std::string, std::optional<leat::compression>>;
[[nodiscard]] const policy_choices& damage_policies();
[[nodiscard]] const compression_choices& compressions();

/// The files of a command line, and how they are read.
struct input_options {
  std::vector<std::string> names;
  std::optional<leat::compression> compression;  ///< not set: detected
  std::uint64_t max_record_size = std::uint64_t{1} << 30;
  leat::corruption_policy on_damage = leat::corruption_policy::fail;
  std::uint64_t max_held = leat::corruption_options().max_held;
  std::uint64_t max_ratio = leat::decompression_options().max_ratio;
  const CLI::App* command = nullptr;  ///< the command with these options

  /// Adds FILE... and the options for reading. `with_policy`: also --on-damage and --max-held.
  void add_to(CLI::App& app, bool with_policy);
  /// Adds --max-held, for a command that searches for records after damage.
  void add_max_held_to(CLI::App& app);

  /// Sets the options that all readers have. Each report is passed to `on_report`.
  template <class Options>
  void set_reader_options(Options& how, report_function on_report) const {
    how.compression = compression;
    how.corruption.policy = on_damage;
    how.corruption.max_reports = UINT64_MAX;
    how.corruption.max_held = max_held;
    how.decompression.max_ratio = max_ratio;
    how.corruption.on_report = wrap_report_function(std::move(on_report));
  }

  /// Wraps a function so that its reports contain the option names of the command.
  [[nodiscard]] report_function wrap_report_function(report_function on_report) const;

  /// Returns the compression of a file: the option, or else the result of detect_compression().
  [[nodiscard]] leat::task<std::optional<leat::compression>> compression_of(std::string path) const;

  /// Returns the options for a reader of TFRecord files.
  [[nodiscard]] leat::tfrecord_reader_options make_reader_options(
      report_function on_report = {}) const;
};

}  // namespace tool
