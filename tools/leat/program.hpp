#pragma once

#include <functional>
#include <string>

#include <CLI/App.hpp>

#include "terminal/output.hpp"
#include "terminal/status.hpp"

namespace tool {

/// State that all subcommands share: the general options, the function to run, and the result.
struct program {
  bool json = false;
  bool quiet = false;  ///< no progress
  colors color = colors::automatic;
  unsigned jobs = 0;                  ///< number of concurrent files; 0: one for each processor
  const CLI::App* command = nullptr;  ///< the chosen subcommand
  output out;
  std::function<void()> run;    ///< set by the chosen subcommand
  status result = status::ok;   ///< the worst so far
  bool damaged = false;         ///< a file was damaged, and the rest of it was not read
  bool reads_tfrecords = true;  ///< the current input is a TFRecord file

  /// Raises `result` to `s` if that is worse.
  void set_status(status s) noexcept { result = worse(result, s); }

  /// Prints an error of a file, or of no file if `path` is empty; with --json as an object, too.
  void report(const std::string& path, const problem& why);

  /// Prints, once at the end, how to handle damaged TFRecord files.
  void print_hints() const;
};

/// Adds a subcommand with the option --json, which all of them have.
[[nodiscard]] CLI::App* add_command(CLI::App& app, program& p, const std::string& name,
                                    const std::string& what);

}  // namespace tool
