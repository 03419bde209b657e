#include "async/dump/internal/metric_sample.hpp"

#include <chrono>

#include "base/text/utf8.hpp"

namespace LEAT::detail {

// A reader would reject invalid UTF-8.
std::string escaped_label(std::string_view value) {
  const bool is_text = is_utf8(value);
  std::string text;
  for (const char c : value) {
    if (c == '\\' || c == '"') {
      text += {'\\', c};
    } else if (c == '\n') {
      text += "\\n";
    } else if (!is_text && static_cast<unsigned char>(c) >= 0x80) {
      text += '?';
    } else {
      text += c;
    }
  }
  return text;
}

std::string metric_seconds(duration d) {
  const auto ns = std::chrono::duration_cast<std::chrono::nanoseconds>(d).count();
  const std::string fraction = std::to_string(1'000'000'000 + ns % 1'000'000'000);
  return std::to_string(ns / 1'000'000'000) + "." + fraction.substr(1);
}

std::string sample_line(const metric_family& family, std::string_view labels, metric_value value) {
  std::string text = family.name;
  text.append("{").append(labels).append("} ");
  text += value.is_infinite ? "+Inf" : std::to_string(value.count);
  text += '\n';
  return text;
}

void append_family(std::string& text, const metric_family& family, std::string_view samples) {
  if (samples.empty()) return;
  text.append("# HELP ").append(family.name).append(" ").append(family.help).append("\n");
  text.append("# TYPE ").append(family.name).append(" ").append(family.type).append("\n");
  text.append(samples);
}

}  // namespace LEAT::detail
