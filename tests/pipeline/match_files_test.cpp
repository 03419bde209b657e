#include "leat/pipeline/match_files.hpp"

#include <filesystem>

#include <catch2/catch.hpp>

#include "leat/core/error.hpp"
#include "leat/core/sync_wait.hpp"
#include "support/temp_dir.hpp"

namespace {

using paths = std::vector<std::string>;

paths match(const paths& patterns, leat::match_options options = {}) {
  return leat::sync_wait(leat::match_files(patterns, options));
}

struct tree : temp_dir {
  tree() {
    std::filesystem::create_directories(*this / "sub/deep");
    write("a.txt", "");
    write("b.txt", "");
    write(".hidden.txt", "");
    write("[x]", "");
    write("sub/c.txt", "");
    write("sub/deep/d.txt", "");
  }
};

}  // namespace

TEST_CASE("match_files: wildcards do not cross a slash", "[pipeline]") {
  const tree t;
  CHECK(match({t / "*.txt"}) == paths{t / ".hidden.txt", t / "a.txt", t / "b.txt"});
  CHECK(match({t / "*/*.txt"}) == paths{t / "sub/c.txt"});
  CHECK(match({t / "**/*.txt"}) == paths{t / "sub/c.txt"});
  CHECK(match({t / "?.txt"}) == paths{t / "a.txt", t / "b.txt"});
  CHECK(match({t / "[^a].txt"}) == paths{t / "b.txt"});
  CHECK(match({t / "\\[x\\]"}) == paths{t / "[x]"});
}

TEST_CASE("match_files: a pattern without wildcards is its path, if that exists", "[pipeline]") {
  const tree t;
  CHECK(match({t / "a.txt"}) == paths{t / "a.txt"});
  CHECK(match({t / "none.txt"}).empty());
  CHECK(match({t / "*/deep/d.txt"}) == paths{t / "sub/deep/d.txt"});
}

TEST_CASE("match_files: several patterns give one sorted list", "[pipeline]") {
  const tree t;
  CHECK(match({t / "b*", t / "a*", t / "b.*"}) == paths{t / "a.txt", t / "b.txt"});
  CHECK(match({t / "b*", t / "b.*"}, {.unique = false}).size() == 2);
  CHECK(match({}).empty());
}

TEST_CASE("match_files: directories match too, unless they are left out", "[pipeline]") {
  const tree t;
  CHECK(match({t / "s*"}) == paths{t / "sub"});
  CHECK(match({t / "s*"}, {.regular_only = true}).empty());
}

TEST_CASE("match_files: no match is an empty list, a missing directory an error", "[pipeline]") {
  const tree t;
  CHECK(match({t / "*.cpp"}).empty());
  CHECK_THROWS_AS(match({t / "missing/*.txt"}), leat::failure);
}
