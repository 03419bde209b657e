#include "leat/codec/checkpoint/checkpoint_state.hpp"

#include <cmath>

#include "tensor/plain_test.hpp"

namespace checkpoint_state_test {

using leat::checkpoint_state;
using paths = std::vector<std::string>;

std::string refused(const std::string& text) {
  return leat_test::refusal([&] { return checkpoint_state::from_text(text).to_text(); });
}

TEST_CASE("checkpoint_state: writes the text of TensorFlow") {
  checkpoint_state s;
  s.model_checkpoint_path = "/d/model.ckpt-20";
  s.all_model_checkpoint_paths = {"/d/model.ckpt-10", "/d/model.ckpt-20"};
  CHECK(s.to_text() ==
        "model_checkpoint_path: \"/d/model.ckpt-20\"\n"
        "all_model_checkpoint_paths: \"/d/model.ckpt-10\"\n"
        "all_model_checkpoint_paths: \"/d/model.ckpt-20\"\n");
  s.all_model_checkpoint_timestamps = {1500000000.25, 1500000600};
  s.last_preserved_timestamp = 1.5e9 - 1;
  CHECK(contains(s.to_text(),
                 "all_model_checkpoint_timestamps: 1500000000.25\n"
                 "all_model_checkpoint_timestamps: 1500000600\n"
                 "last_preserved_timestamp: 1499999999\n"));
  CHECK(checkpoint_state::from_text(s.to_text()) == s);
}

TEST_CASE("checkpoint_state: parses a text that was edited by hand [71]") {
  const checkpoint_state s = checkpoint_state::from_text(
      "# the good one\n"
      "model_checkpoint_path: 'model.ckpt-7'  # not 8\n\n"
      "all_model_checkpoint_paths : [ \"a\\n\\\"\\x41\\101\", 'b' ] ;"
      "all_model_checkpoint_paths:\"c\" 'd'\n\"e\",\n"
      "\tall_model_checkpoint_timestamps: [1, 2.5e3, -3]\n"
      "last_preserved_timestamp: 7.5f");
  CHECK(s.model_checkpoint_path == "model.ckpt-7");
  CHECK(s.all_model_checkpoint_paths == paths{"a\n\"AA", "b", "cde"});
  CHECK(s.all_model_checkpoint_timestamps == std::vector<double>{1, 2500, -3});
  CHECK(s.last_preserved_timestamp == 7.5);
}

TEST_CASE("checkpoint_state: every escape of a string") {
  const auto read = [](const std::string& literal) {
    return checkpoint_state::from_text("model_checkpoint_path: " + literal).model_checkpoint_path;
  };
  CHECK(read(R"('\a\b\f\n\r\t\v\\\'\"\?')") == "\a\b\f\n\r\t\v\\'\"?");
  CHECK(read(R"('\0\7\60\1234')") == std::string("\0\7", 2) + "0S4");
  CHECK(read(R"('\x4\x41\X4a1')") ==
        "\x04"
        "AJ1");
  CHECK(read(R"('\u00e9\u20ac\U0001F600')") == "\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80");
}

TEST_CASE("checkpoint_state: restores any path from its text") {
  leat::random_engine random(1);
  for (int round = 0; round < 500; ++round) {
    checkpoint_state s;
    for (std::uint64_t n = random.uniform_below(4); n > 0; --n) {
      std::string path;
      for (std::uint64_t c = random.uniform_below(20); c > 0; --c) {
        path += static_cast<char>(random.uniform_below(256));
      }
      s.all_model_checkpoint_paths.push_back(path);
      s.all_model_checkpoint_timestamps.push_back(
          static_cast<double>(random.uniform_below(1U << 30)) / 7);
    }
    s.model_checkpoint_path = "\"\\'\n\xFF";
    REQUIRE(checkpoint_state::from_text(s.to_text()) == s);
  }
}

TEST_CASE("checkpoint_state: an empty text is an empty state") {
  CHECK(checkpoint_state::from_text("") == checkpoint_state());
  CHECK(checkpoint_state::from_text("# nothing\n") == checkpoint_state());
  CHECK(checkpoint_state::from_text("all_model_checkpoint_paths: []") == checkpoint_state());
  const checkpoint_state last =
      checkpoint_state::from_text("model_checkpoint_path: 'a' model_checkpoint_path: 'b'");
  CHECK(last.model_checkpoint_path == "b");
}

TEST_CASE("checkpoint_state: refuses invalid text and names the line") {
  CHECK(contains(refused("\x89LCK"), "line 1: expected the name of a field, found '\\x89'"));
  CHECK(contains(refused("\n\nmodel_path: 'x'"), "line 3: unknown field 'model_path'"));
  CHECK(contains(refused("model_checkpoint_path 'x'"),
                 "expected ':' after the field 'model_checkpoint_path', found"));
  CHECK(contains(
      refused(std::string(1000, 'a')),
      "line 1: expected ':' after the field '" + std::string(32, 'a') + "'..., found the end"));
  CHECK(contains(refused("model_checkpoint_path: 7"), "expected a quoted string, found '7'"));
  CHECK(contains(refused("model_checkpoint_path:"),
                 "expected a quoted string, found the end of the text"));
  CHECK(contains(refused("model_checkpoint_path: 'x"),
                 "string is not closed at the end of its line"));
  CHECK(contains(refused("model_checkpoint_path: 'x\n'"), "line 1: string is not closed"));
  CHECK(contains(refused("model_checkpoint_path: 'x\\"), "unknown escape sequence"));
  CHECK(contains(refused("model_checkpoint_path: '\\q'"), "unknown escape sequence"));
  CHECK(contains(refused("model_checkpoint_path: '\\xg'"), "too few digits"));
  CHECK(contains(refused("model_checkpoint_path: '\\u12'"), "too few digits"));
  CHECK(contains(refused("model_checkpoint_path: '\\ud800'"), "not a valid character"));
  CHECK(contains(refused("all_model_checkpoint_paths: ['a' 'b'"),
                 "expected ',' or ']' in a list, found the end"));
  CHECK(contains(refused("all_model_checkpoint_paths: ['a',]"), "expected a quoted string"));
  CHECK(contains(refused("last_preserved_timestamp: soon"), "expected a number"));
  CHECK(contains(refused("last_preserved_timestamp: 0x10"), "expected a number"));
  CHECK(contains(refused("last_preserved_timestamp: 1.2.3"), "expected a number"));
  for (const char* const value : {"nan", "-nan", "inf", "-inf", "infinity"}) {
    const std::string text = "all_model_checkpoint_timestamps: " + std::string(value);
    CHECK(contains(refused(text), "expected a number, found '" + std::string(value)));
  }
}

}  // namespace checkpoint_state_test
