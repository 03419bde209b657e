#include "leat/codec/line_splitter.hpp"

#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "leat/core/random.hpp"

namespace {

using lines = std::vector<std::string>;

// The definition, byte by byte.
lines slow_split(std::string_view text) {
  lines all;
  std::string line;
  bool open = false;
  for (const char c : text) {
    open = c != '\n';
    if (c != '\n') {
      line += c;
      continue;
    }
    if (line.ends_with('\r')) line.pop_back();
    all.push_back(line);
    line.clear();
  }
  if (open) {
    if (line.ends_with('\r')) line.pop_back();
    all.push_back(line);
  }
  return all;
}

// As a reader does it: in pieces, the rest of a line carried over to the next piece.
lines split_in_pieces(const std::string& text, std::size_t piece) {
  lines all;
  std::string window;
  for (std::size_t at = 0; at < text.size(); at += piece) {
    window += text.substr(at, piece);
    std::vector<std::string_view> views;
    const std::size_t consumed = leat::split_lines(window, views);
    all.insert(all.end(), views.begin(), views.end());
    window.erase(0, consumed);
  }
  if (!window.empty()) all.emplace_back(leat::last_line(window));
  return all;
}

}  // namespace

TEST_CASE("split_lines: line ends are left out, with one carriage return", "[codec]") {
  std::vector<std::string_view> views;
  const std::string_view text = "one\ntwo\r\n\n\r\r\nrest";
  CHECK(leat::split_lines(text, views) == text.size() - 4);
  CHECK(views == std::vector<std::string_view>{"one", "two", "", "\r"});
  CHECK(leat::last_line("rest") == "rest");
}

TEST_CASE("split_lines: a last line of one carriage return is an empty line", "[codec]") {
  CHECK(split_in_pieces("a\n\r", 2) == lines{"a", ""});
}

TEST_CASE("split_lines: NUL bytes are data", "[codec]") {
  const std::string text("a\0b\n\0\n", 6);
  CHECK(split_in_pieces(text, 6) == lines{std::string("a\0b", 3), std::string("\0", 1)});
}

TEST_CASE("split_lines: every way to cut a text gives the same lines", "[codec]") {
  const std::string text = "first\r\nsecond\n\n\nfifth line\r\r\n\nx";
  const lines expected = slow_split(text);
  for (std::size_t piece = 1; piece <= text.size(); ++piece) {
    REQUIRE(split_in_pieces(text, piece) == expected);
  }
}

TEST_CASE("split_lines: long random texts are split as the definition says", "[codec]") {
  leat::random_engine random(3);
  for (int round = 0; round < 20; ++round) {
    std::string text;
    const std::uint64_t average = random.below(200) + 1;
    while (text.size() < 30'000) {
      const std::uint64_t kind = random.below(average);
      text += kind == 0 ? '\n' : kind == 1 ? '\r' : static_cast<char>('a' + random.below(26));
    }
    REQUIRE(split_in_pieces(text, 65536) == slow_split(text));
    REQUIRE(split_in_pieces(text, 5000) == slow_split(text));
  }
}
