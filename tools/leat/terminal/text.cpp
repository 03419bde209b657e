#include "terminal/text.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>

namespace tool {
namespace {

// Returns the bytes of the well-formed UTF-8 character at the beginning, or 0.
// Source: The Unicode Standard, table 3-7. The library's is_utf8(), base/text/utf8.hpp, follows the
// same table; it is private, and escaping also needs the size of each character.
std::size_t character_at(std::string_view bytes) noexcept {
  const auto byte = [bytes](std::size_t i) {
    return i < bytes.size() ? static_cast<unsigned char>(bytes[i]) : 0U;
  };
  const auto follows = [&byte](std::size_t from, std::size_t to) {
    for (std::size_t i = from; i < to; ++i) {
      if ((byte(i) & 0xC0U) != 0x80U) return false;
    }
    return true;
  };
  const unsigned first = byte(0);
  const unsigned second = byte(1);
  if (bytes.empty()) return 0;
  if (first < 0x80) return 1;
  if (first >= 0xC2 && first <= 0xDF) return follows(1, 2) ? 2 : 0;
  if (first >= 0xE0 && first <= 0xEF) {
    const bool overlong = first == 0xE0 && second < 0xA0;
    const bool surrogate = first == 0xED && second > 0x9F;
    return follows(1, 3) && !overlong && !surrogate ? 3 : 0;
  }
  if (first >= 0xF0 && first <= 0xF4) {
    const bool overlong = first == 0xF0 && second < 0x90;
    const bool too_large = first == 0xF4 && second > 0x8F;
    return follows(1, 4) && !overlong && !too_large ? 4 : 0;
  }
  return 0;
}

// Control characters beyond ASCII, which a terminal may obey: U+0080 to U+009F.
bool is_control(std::string_view character) noexcept {
  const auto first = static_cast<unsigned char>(character[0]);
  if (first < 0x20 || first == 0x7F) return true;
  return first == 0xC2 && static_cast<unsigned char>(character[1]) < 0xA0;
}

void append_escape(std::string& text, char c) {
  constexpr std::string_view digits = "0123456789abcdef";
  constexpr std::string_view special = "\n\t\r\\";
  text += '\\';
  if (const std::size_t at = special.find(c); at != std::string_view::npos) {
    text += "ntr\\"[at];
  } else {
    const auto value = static_cast<unsigned char>(c);
    text += {'x', digits[value >> 4], digits[value & 15]};
  }
}

// Escapes control characters, bytes that are not UTF-8, and the characters in `also`.
std::string escape_except(std::string_view bytes, std::string_view also) {
  const auto is_plain = [&also](char c) {
    return c >= ' ' && c <= '~' && also.find(c) == std::string_view::npos;
  };
  std::string text;
  text.reserve(bytes.size());
  while (!bytes.empty()) {
    const auto plain = std::find_if_not(bytes.begin(), bytes.end(), is_plain) - bytes.begin();
    text += bytes.substr(0, static_cast<std::size_t>(plain));
    bytes.remove_prefix(static_cast<std::size_t>(plain));
    if (bytes.empty()) break;
    const std::size_t size = character_at(bytes);
    const std::string_view character = bytes.substr(0, std::max<std::size_t>(size, 1));
    bytes.remove_prefix(character.size());
    if (size > 1 && !is_control(character)) {
      text += character;
    } else {
      for (const char c : character) append_escape(text, c);
    }
  }
  return text;
}

}  // namespace

bool is_utf8(std::string_view bytes) noexcept {
  while (!bytes.empty()) {
    const std::size_t size = character_at(bytes);
    if (size == 0) return false;
    bytes.remove_prefix(size);
  }
  return true;
}

std::string escape_text(std::string_view bytes) { return escape_except(bytes, "\\"); }

std::string escape_controls(std::string_view bytes) { return escape_except(bytes, {}); }

// The library only decodes base64, in the private base/text/base64.hpp.
std::string base64(std::string_view bytes) {
  constexpr std::string_view digits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    std::uint32_t bits = 0;
    for (std::size_t k = 0; k < 3; ++k) {
      bits = bits << 8 | (i + k < bytes.size() ? static_cast<unsigned char>(bytes[i + k]) : 0U);
    }
    for (std::size_t k = 0; k < 4; ++k) {
      text += i + k <= bytes.size() ? digits[bits >> (18 - 6 * k) & 63U] : '=';
    }
  }
  return text;
}

std::string size_text(std::uint64_t bytes) {
  constexpr std::array<std::string_view, 6> units{"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  if (bytes < 1024) return count_text(bytes, "byte");
  auto value = static_cast<double>(bytes);
  std::size_t unit = 0;
  for (value /= 1024; value >= 1023.95 && unit + 1 < units.size(); ++unit) value /= 1024;
  return fmt::format("{:.1f} {}", value, units[unit]);
}

std::string count_text(std::uint64_t count, std::string_view thing) {
  return count_text(count, thing, std::string(thing) + "s");
}

std::string count_text(std::uint64_t count, std::string_view thing, std::string_view things) {
  return fmt::format("{} {}", count, count == 1 ? thing : things);
}

std::string written_text(std::uint64_t records, const std::vector<std::string>& paths) {
  std::string text = count_text(records, "record") + " in " + escape_controls(paths.front());
  if (paths.size() > 1) text += " to " + escape_controls(paths.back());
  return text;
}

}  // namespace tool
