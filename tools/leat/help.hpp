#pragma once

#include <memory>
#include <string>

#include <CLI/App.hpp>
#include <CLI/Formatter.hpp>

namespace tool {

// The description of an option serves --help and the manual page. The text up to the first empty
// line is for both. Paragraphs that follow it are only for the manual page; a line that begins with
// "- " is an item of a list there.

/// Creates the formatter of --help.
[[nodiscard]] std::shared_ptr<CLI::Formatter> make_help_formatter();

/// Returns the options of all commands, for the script manual.py: a list with an object for each
/// option. The object of a general option has no command.
[[nodiscard]] std::string options_as_json(const CLI::App& app);

}  // namespace tool
