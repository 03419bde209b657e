#include "codec/text/internal/line_splitter.hpp"

#include "tensor/plain_test.hpp"

namespace line_splitter_test {

using lines = std::vector<std::string>;

// Splits byte by byte, from the definition.
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

// Splits in pieces, as a reader does, and moves the rest of a line to the next piece.
lines split_in_pieces(const std::string& text, std::size_t piece) {
  lines all;
  std::string window;
  for (std::size_t at = 0; at < text.size(); at += piece) {
    window += text.substr(at, piece);
    std::vector<std::string_view> views;
    const std::size_t consumed = leat::detail::split_lines(window, views);
    all.insert(all.end(), views.begin(), views.end());
    window.erase(0, consumed);
  }
  if (!window.empty()) all.emplace_back(leat::detail::unterminated_line(window));
  return all;
}

TEST_CASE("split_lines: removes line ends and one carriage return") {
  std::vector<std::string_view> views;
  const std::string_view text = "one\ntwo\r\n\n\r\r\nrest";
  CHECK(leat::detail::split_lines(text, views) == text.size() - 4);
  CHECK(views == std::vector<std::string_view>{"one", "two", "", "\r"});
  CHECK(leat::detail::unterminated_line("rest") == "rest");
}

TEST_CASE("split_lines: a last line of one carriage return is an empty line") {
  CHECK(split_in_pieces("a\n\r", 2) == lines{"a", ""});
}

TEST_CASE("split_lines: treats NUL bytes as data") {
  const std::string text("a\0b\n\0\n", 6);
  CHECK(split_in_pieces(text, 6) == lines{std::string("a\0b", 3), std::string("\0", 1)});
}

TEST_CASE("split_lines: every way to cut a text gives the same lines") {
  const std::string text = "first\r\nsecond\n\n\nfifth line\r\r\n\nx";
  const lines expected = slow_split(text);
  for (std::size_t piece = 1; piece <= text.size(); ++piece) {
    REQUIRE(split_in_pieces(text, piece) == expected);
  }
}

TEST_CASE("split_lines: long random texts are split as the definition says") {
  leat::random_engine random(3);
  for (int round = 0; round < 20; ++round) {
    std::string text;
    const std::uint64_t average = random.uniform_below(200) + 1;
    while (text.size() < 30'000) {
      const std::uint64_t kind = random.uniform_below(average);
      text += kind == 0   ? '\n'
              : kind == 1 ? '\r'
                          : static_cast<char>('a' + random.uniform_below(26));
    }
    REQUIRE(split_in_pieces(text, 65536) == slow_split(text));
    REQUIRE(split_in_pieces(text, 5000) == slow_split(text));
  }
}

TEST_CASE("split_lines: every two cuts of a text give the same lines") {
  const std::string text("\r\na\r\r\n\n\0\r\nlast\r", 16);
  const lines expected = slow_split(text);
  for (std::size_t first = 0; first <= text.size(); ++first) {
    for (std::size_t second = first; second <= text.size(); ++second) {
      lines all;
      std::string window;
      for (const std::string& piece :
           {text.substr(0, first), text.substr(first, second - first), text.substr(second)}) {
        window += piece;
        std::vector<std::string_view> views;
        const std::size_t consumed = leat::detail::split_lines(window, views);
        all.insert(all.end(), views.begin(), views.end());
        window.erase(0, consumed);
      }
      if (!window.empty()) all.emplace_back(leat::detail::unterminated_line(window));
      REQUIRE(all == expected);
    }
  }
}

TEST_CASE("split_lines: every density of line ends is split as the definition says") {
  // From a line end at every byte to one in 8 KiB, so blocks have any number of line ends.
  leat::random_engine random(8);
  for (std::uint64_t average = 1; average <= 8192; average *= 2) {
    std::string text;
    while (text.size() < 3 * 4096 + 100) {
      const std::uint64_t kind = random.uniform_below(average);
      text += kind == 0 ? '\n' : kind == 1 ? '\r' : static_cast<char>(random.uniform_below(256));
    }
    REQUIRE(split_in_pieces(text, text.size()) == slow_split(text));
  }
}

TEST_CASE("split_lines: lines that become shorter and longer from block to block") {
  leat::random_engine random(9);
  std::string text;
  const std::vector<std::uint64_t> averages = {100, 3, 5000, 1, 36, 28, 100, 60, 2, 100};
  for (const std::uint64_t average : averages) {
    for (const std::size_t end = text.size() + 4096; text.size() < end;) {
      const std::uint64_t kind = random.uniform_below(2 * average);
      text += kind < 2 ? '\n' : kind == 2 ? '\r' : static_cast<char>(random.uniform_below(256));
    }
  }
  REQUIRE(split_in_pieces(text, text.size()) == slow_split(text));
}

TEST_CASE("split_lines: a line end is found at every place of a block") {
  for (std::size_t at = 0; at < 4096 + 64; ++at) {
    std::string text(4096 + 64, 'x');
    text[at] = '\n';
    if (at > 0) text[at - 1] = '\r';
    std::vector<std::string_view> views;
    REQUIRE(leat::detail::split_lines(text, views) == at + 1);
    REQUIRE(views.size() == 1);
    REQUIRE(views[0] == std::string_view(text).substr(0, at > 0 ? at - 1 : 0));
  }
}

TEST_CASE("split_lines: lines much longer than a block are whole") {
  const std::string text = std::string(300'000, 'a') + "\r\n" + std::string(70'000, 'b') + "\n";
  for (const std::size_t piece : {std::size_t{4095}, std::size_t{4096}, std::size_t{4097},
                                  std::size_t{100'000}, text.size()}) {
    REQUIRE(split_in_pieces(text, piece) == slow_split(text));
  }
}

TEST_CASE("split_lines: appends lines to the vector") {
  std::vector<std::string_view> views = {"before"};
  leat::detail::split_lines("a\nb\n", views);
  CHECK(views == std::vector<std::string_view>{"before", "a", "b"});
}

}  // namespace line_splitter_test
