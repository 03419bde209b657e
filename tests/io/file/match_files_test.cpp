// Patterns and the paths that they match.

#include "leat/io/file/match_files.hpp"

#include <clocale>
#include <filesystem>

#include "support/leat_test.hpp"
#include "support/temp_dir.hpp"

namespace match_files_test {

using paths = std::vector<std::string>;

paths match(const paths& patterns, leat::match_options options = {}) {
  return leat::block_on(leat::match_files(patterns, options));
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

// Files whose names differ in one place.
struct letters : temp_dir {
  letters() {
    for (const char* middle : {"c", "z", "asdfjkl", "3", "4", ""}) write(name(middle), "");
    write("XYZq7", "");
  }
  static std::string name(const std::string& middle) { return "AB" + middle + "DEF.GHq7"; }
  [[nodiscard]] paths of(const paths& middles) const {
    paths all;
    for (const std::string& middle : middles) all.push_back(*this / name(middle));
    return all;
  }
};

// Files in subdirectories of a temporary directory.
struct forest : temp_dir {
  explicit forest(const paths& files) {
    for (const std::string& file : files) {
      std::filesystem::create_directories(std::filesystem::path(*this / file).parent_path());
      write(file, "");
    }
  }
};

// Changes the working directory and restores it at the end.
struct working_directory {
  explicit working_directory(const std::string& there) { std::filesystem::current_path(there); }
  ~working_directory() { std::filesystem::current_path(before); }
  std::filesystem::path before = std::filesystem::current_path();
};

TEST_CASE("match_files: a question mark matches one character") {
  const letters t;
  CHECK(match({t / "AB?DEF.GH*"}) == t.of({"3", "4", "c", "z"}));
}

TEST_CASE("match_files: matches sets and ranges") {
  const letters t;
  CHECK(match({t / "AB[cxz]DEF.GH*"}) == t.of({"c", "z"}));
  CHECK(match({t / "AB[0-9]DEF.GH*"}) == t.of({"3", "4"}));
}

TEST_CASE("match_files: several patterns give one sorted list") {
  const letters t;
  paths expected = t.of({"3", "4", "c", "z"});
  expected.push_back(t / "XYZq7");
  CHECK(match({t / "AB?DEF.GH*", t / "X?Z*"}) == expected);
  CHECK(match({t / "X?Z*", t / "AB?DEF.GH*"}) == expected);
}

TEST_CASE("match_files: returns no path without a pattern") { CHECK(match({}).empty()); }

TEST_CASE("match_files: matches wildcards in directories") {
  const forest one({"match-00/abc/x", "match-01/abc/x", "match-0a/abc/x", "match-aaa/abc/x"});
  CHECK(match({one / "match-?a*/abc/x"}) == paths{one / "match-0a/abc/x", one / "match-aaa/abc/x"});
  const forest two({"match-00/abc/00", "match-00/abc/01", "match-00/abc/09", "match-01/abc/00",
                    "match-01/abc/04", "match-01/abc/10", "match-02/abc/00"});
  CHECK(match({two / "match-0[0-1]/abc/0[0-8]"}) ==
        paths{two / "match-00/abc/00", two / "match-00/abc/01", two / "match-01/abc/00",
              two / "match-01/abc/04"});
}

TEST_CASE("match_files: keeps a leading dot and slash") {
  const forest t({"test"});
  const working_directory here(t.path());
  CHECK(match({"te*"}) == paths{"./test"});
  CHECK(match({"test"}) == paths{"test"});
}

TEST_CASE("match_files: returns an empty list if nothing matches") {
  const temp_dir t;
  CHECK(match({t / "*"}).empty());
  CHECK(match({t / "*.cpp"}).empty());
}

TEST_CASE("match_files: a missing directory is an error that names it") {
  const temp_dir t;
  auto asked = [&]() -> leat::task<> { co_await leat::match_files(paths(1, t / "none/*")); };
  CHECK(contains(leat_test::error_of(asked(), leat::errc::not_found), t / "none"));
}

TEST_CASE("match_files: wildcards do not cross a slash") {
  const tree t;
  CHECK(match({t / "*.txt"}) == paths{t / ".hidden.txt", t / "a.txt", t / "b.txt"});
  CHECK(match({t / "*/*.txt"}) == paths{t / "sub/c.txt"});
  CHECK(match({t / "**/*.txt"}) == paths{t / "sub/c.txt"});
  CHECK(match({t / "?.txt"}) == paths{t / "a.txt", t / "b.txt"});
  CHECK(match({t / "[^a].txt"}) == paths{t / "b.txt"});
  CHECK(match({t / "\\[x\\]"}) == paths{t / "[x]"});
}

TEST_CASE("match_files: an existing name is not a pattern") {
  const forest t(
      {"run[1].txt", "run1.txt", "run[2]/a.txt", "run2/a.txt", "run3.txt", "s/*", "s/b"});
  CHECK(match({t / "run[1].txt"}) == paths{t / "run[1].txt"});
  CHECK(match({t / "run[2]/*.txt"}) == paths{t / "run[2]/a.txt"});
  CHECK(match({t / "run[3].txt"}) == paths{t / "run3.txt"});
  CHECK(match({t / "s/*"}) == paths{t / "s/*"});
  CHECK(match({t / "?/*"}) == paths{t / "s/*"});
  const working_directory here(t.path());
  CHECK(match({"run[1].txt"}) == paths{"run[1].txt"});
  CHECK(match({"run[3].txt"}) == paths{"./run3.txt"});
}

TEST_CASE("match_files: a wildcard matches a character of UTF-8 in every locale") {
  const std::string broken = "f\xfc.txt";  // not UTF-8
  const forest t({"fü.txt", "fu.txt", "f€.txt", broken, "ü\xff"});
  const std::string before = std::setlocale(LC_ALL, nullptr);
  for (const char* const locale : {"C", "C.UTF-8"}) {
    std::setlocale(LC_ALL, locale);
    CHECK(match({t / "f?.txt"}) == paths{t / "fu.txt", t / "fü.txt", t / "f€.txt", t / broken});
    CHECK(match({t / "f[à-ÿ].txt"}) == paths{t / "fü.txt"});
    CHECK(match({t / "f[^u].txt"}) == paths{t / "fü.txt", t / "f€.txt", t / broken});
    CHECK(match({t / "f??.txt"}).empty());
    CHECK(match({t / "ü*"}) == paths{t / "ü\xff"});
    CHECK(match({t / "f\xfc*"}) == paths{t / broken});
    CHECK(match({t / "*"}).size() == 5);
  }
  std::setlocale(LC_ALL, before.c_str());
}

TEST_CASE("escape_pattern: matches only the file of this name") {
  const std::string all = "a*b?[c]d\\e";
  CHECK(leat::escape_pattern(all) == "a\\*b\\?\\[c]d\\\\e");
  CHECK(leat::escape_pattern("plain/name.txt") == "plain/name.txt");
  const forest t({all, "run[1].txt", "run1.txt", "run2.txt", "run\\[2\\].txt", "d[4]/x", "d4/x"});
  CHECK(match({t / leat::escape_pattern(all)}) == paths{t / all});
  CHECK(match({leat::escape_pattern(t / "run[1].txt")}) == paths{t / "run[1].txt"});
  CHECK(match({leat::escape_pattern(t / "run[2].txt")}).empty());  // not run2.txt, not run\[2\].txt
  CHECK(match({leat::escape_pattern(t / "d[4]") + "/*"}) == paths{t / "d[4]/x"});
  const working_directory here(t.path());
  CHECK(match({leat::escape_pattern("run[1].txt")}) == paths{"run[1].txt"});
}

TEST_CASE("match_files: a pattern without wildcards is its path, if that exists") {
  const tree t;
  CHECK(match({t / "a.txt"}) == paths{t / "a.txt"});
  CHECK(match({t / "none.txt"}).empty());
  CHECK(match({t / "*/deep/d.txt"}) == paths{t / "sub/deep/d.txt"});
}

TEST_CASE("match_files: returns a path that several patterns match once, or each time") {
  const tree t;
  CHECK(match({t / "b*", t / "a*", t / "b.*"}) == paths{t / "a.txt", t / "b.txt"});
  CHECK(match({t / "b*", t / "b.*"}, {.unique = false}) == paths{t / "b.txt", t / "b.txt"});
}

TEST_CASE("match_files: directories match too, unless they are left out") {
  const tree t;
  CHECK(match({t / "s*"}) == paths{t / "sub"});
  CHECK(match({t / "s*"}, {.regular_only = true}).empty());
}

// Names are used unchanged (see SECURITY.md).
TEST_CASE("match_files: resolves dots in a path, also out of a directory") {
  const tree t;
  CHECK(match({t / "sub/../a.txt"}) == paths{t / "sub/../a.txt"});
  CHECK(match({t / "sub/deep/../../*.txt"}) == paths{t / "sub/deep/../../.hidden.txt",
                                                     t / "sub/deep/../../a.txt",
                                                     t / "sub/deep/../../b.txt"});
  CHECK(match({t / "*/../[x]"}) == paths{t / "sub/../[x]"});
  CHECK(match({t / "*/../a.txt"}) == paths{t / "sub/../a.txt"});
  CHECK(match({t / "none/../a.txt"}).empty());
  std::string to_root;
  for (int i = 0; i < 50; ++i) to_root += "/..";
  CHECK(match({t.path() + to_root + t.path() + "/a*"}) ==
        paths{t.path() + to_root + t.path() + "/a.txt"});
  CHECK(match({t / "..*"}).empty());  // a listing has no '.' and '..'
}

TEST_CASE("match_files: follows links and ends at dangling or cyclic ones") {
  const tree t;
  std::filesystem::create_symlink(".", t / "itself");
  std::filesystem::create_symlink("loop", t / "loop");
  std::filesystem::create_symlink("none", t / "missing");
  std::filesystem::create_symlink("a.txt", t / "link.txt");
  std::filesystem::create_directory_symlink("sub", t / "way");
  CHECK(match({t / "way/c*"}) == paths{t / "way/c.txt"});
  CHECK(match({t / "*/c.txt"}) == paths{t / "sub/c.txt", t / "way/c.txt"});
  CHECK(match({t / "itself/itself/a*"}) == paths{t / "itself/itself/a.txt"});
  CHECK(match({t / "it*/it*/a*"}) == paths{t / "itself/itself/a.txt"});  // as deep as the pattern
  CHECK(match({t / "it*/**"}).size() == match({t / "*"}).size());
  CHECK(match({t / "loop"}).empty());
  CHECK(match({t / "loop/*"}).empty());
  CHECK(match({t / "l*"}) == paths{t / "link.txt", t / "loop"});
  CHECK(match({t / "missing"}).empty());
  CHECK(match({t / "l*", t / "m*", t / "w*"}, {.regular_only = true}) == paths{t / "link.txt"});
}

}  // namespace match_files_test
