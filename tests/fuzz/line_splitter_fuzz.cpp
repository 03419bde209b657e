// Splits any text in one piece and in two. The result is always the lines of the definition.

#include "codec/text/internal/line_splitter.hpp"

#include <cstdlib>
#include <string>

namespace {

std::vector<std::string> by_definition(std::string_view text) {
  std::vector<std::string> lines;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    lines.emplace_back(leat::detail::unterminated_line(text.substr(0, end)));
    if (end == std::string_view::npos) break;
    text.remove_prefix(end + 1);
  }
  return lines;
}

std::vector<std::string> cut_at(const std::string& text, std::size_t cut) {
  std::vector<std::string> lines;
  std::vector<std::string_view> views;
  std::size_t at = leat::detail::split_lines(std::string_view(text).substr(0, cut), views);
  lines.assign(views.begin(), views.end());
  views.clear();
  at += leat::detail::split_lines(std::string_view(text).substr(at), views);
  lines.insert(lines.end(), views.begin(), views.end());
  if (at < text.size())
    lines.emplace_back(leat::detail::unterminated_line(std::string_view(text).substr(at)));
  return lines;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  const auto expected = by_definition(text);
  if (cut_at(text, size) != expected) std::abort();
  if (size > 0 && cut_at(text, data[0] % size) != expected) std::abort();
  return 0;
}
