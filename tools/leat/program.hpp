#pragma once

#include <functional>
#include <string>

#include <CLI/App.hpp>

#include "terminal/output.hpp"
#include "terminal/status.hpp"

namespace tool {

/// What all subcommands share: the options of the program, what it is to do, and how that went.
struct program {
  bool json = false;
  bool quiet = false;  ///< no progress
  colors color = colors::automatic;
  unsigned jobs = 0;                  ///< files at a time; 0: one for each processor
  const CLI::App* command = nullptr;  ///< the subcommand that was named
  output out;
  std::function<void()> run;   ///< set by the subcommand that was named
  status result = status::ok;  ///< the worst so far
  bool damaged = false;        ///< a file was, and nothing was read behind that

  /// That much is wrong.
  void set_status(status s) noexcept { result = worse(result, s); }

  /// Says what is wrong with a file, or with none of them; with --json as an object too.
  void report(const std::string& path, const problem& why);

  /// Says once, at the end, what can be done about files that are damaged.
  void print_hints() const;
};

/// A subcommand with the options that all have: --json.
[[nodiscard]] CLI::App* add_command(CLI::App& app, program& p, const std::string& name,
                                    const std::string& what);

}  // namespace tool
