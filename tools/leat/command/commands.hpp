#pragma once

#include <CLI/App.hpp>

#include "program.hpp"

namespace tool {

/// Functions that add the subcommands. A subcommand sets `run` if it is chosen.
void add_cat(CLI::App& app, program& p);
void add_head(CLI::App& app, program& p);
void add_count(CLI::App& app, program& p);
void add_stat(CLI::App& app, program& p);
void add_verify(CLI::App& app, program& p);
void add_index(CLI::App& app, program& p);
void add_convert(CLI::App& app, program& p);
void add_repair(CLI::App& app, program& p);
void add_report(CLI::App& app, program& p);
void add_checkpoints(CLI::App& app, program& p);
void add_doctor(CLI::App& app, program& p);
void add_run(CLI::App& app, program& p);
void add_trace(CLI::App& app, program& p);
void add_bench(CLI::App& app, program& p);

/// Adds all subcommands, in the order of --help.
inline void add_commands(CLI::App& app, program& p) {
  add_cat(app, p);
  add_head(app, p);
  add_count(app, p);
  add_stat(app, p);
  add_verify(app, p);
  add_index(app, p);
  add_convert(app, p);
  add_repair(app, p);
  add_report(app, p);
  add_checkpoints(app, p);
  add_run(app, p);
  add_trace(app, p);
  add_doctor(app, p);
  add_bench(app, p);
}

}  // namespace tool
