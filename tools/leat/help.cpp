#include "help.hpp"

#include <string_view>

#include "terminal/output.hpp"

namespace tool {
namespace {

class help_formatter final : public CLI::Formatter {
 public:
  help_formatter() { column_width(28); }

  std::string make_option_desc(const CLI::Option* option) const override {
    const std::string text = option->get_description();
    return text.substr(0, text.find("\n\n"));
  }
};

void add_options(const CLI::App& command, const std::string& name, json& to) {
  for (const CLI::Option* const option : command.get_options()) {
    if (option->get_positional() || option->get_group().empty()) continue;
    json names = json::array();
    for (const std::string& letter : option->get_snames()) names.push_back("-" + letter);
    for (const std::string& word : option->get_lnames()) names.push_back("--" + word);
    json entry{{"names", std::move(names)}, {"text", option->get_description()}};
    if (!name.empty()) entry["command"] = name;
    if (option->get_type_size() != 0) entry["value"] = option->get_type_name();
    if (option->get_group() != "Options") entry["group"] = option->get_group();
    to.push_back(std::move(entry));
  }
  for (const CLI::App* const sub : command.get_subcommands({})) {
    add_options(*sub, name.empty() ? sub->get_name() : name + " " + sub->get_name(), to);
  }
}

}  // namespace

std::shared_ptr<CLI::Formatter> make_help_formatter() { return std::make_shared<help_formatter>(); }

std::string options_as_json(const CLI::App& app) {
  json all = json::array();
  add_options(app, {}, all);
  return all.dump();
}

}  // namespace tool
