#include "option_names.hpp"

#include <algorithm>

namespace tool {

std::string with_option_names(std::string_view message, const CLI::App& command) {
  constexpr std::string_view mark = "_options::";
  const auto is_of_name = [](char c) { return (c >= 'a' && c <= 'z') || c == '_'; };
  std::string text;
  for (;;) {
    const std::size_t at = message.find(mark);
    if (at == std::string_view::npos) return text.append(message);
    std::size_t begin = at;
    while (begin > 0 && is_of_name(message[begin - 1])) --begin;
    const std::string_view behind = message.substr(at + mark.size());
    const auto size = std::find_if_not(behind.begin(), behind.end(), is_of_name) - behind.begin();
    const std::string name(behind.substr(0, static_cast<std::size_t>(size)));
    std::string option = "--" + name;
    std::ranges::replace(option, '_', '-');
    text += message.substr(0, begin);
    text += command.get_option_no_throw(option) != nullptr ? option : name;
    message = behind.substr(name.size());
  }
}

}  // namespace tool
