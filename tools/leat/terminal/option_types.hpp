#pragma once

#include <string>
#include <vector>

#include <CLI/App.hpp>

namespace tool {

/// Makes an option accept the path of a file, or of files; an empty path is rejected.
CLI::Option* as_path(CLI::Option* option);

/// Adds an option with a set of names as values. `choices` must outlive the command.
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
