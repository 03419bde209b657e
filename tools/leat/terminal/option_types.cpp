#include "terminal/option_types.hpp"

namespace tool {

CLI::Option* as_path(CLI::Option* option) {
  const auto reject_empty = [](const std::string& path) {
    return path.empty() ? std::string("give a path, not ''") : std::string();
  };
  return option->check(CLI::Validator(reject_empty, ""))->type_name("PATH");
}

}  // namespace tool
