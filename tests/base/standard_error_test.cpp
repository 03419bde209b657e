#include "base/internal/standard_error.hpp"

#include <cstdio>
#include <iostream>
#include <sstream>
#include <string>

#include <catch2/catch.hpp>

#include "support/nonblocking_stderr.hpp"

namespace standard_error_test {

// Does not fit into a pipe.
const std::string& long_text() {
  static const std::string text = std::string(300'000, 'x') + "\n";
  return text;
}

TEST_CASE("write_stderr: a full nonblocking pipe receives all of a text") {
  CHECK(leat_test::text_of_nonblocking_stderr([] { leat::detail::write_stderr(long_text()); }) ==
        long_text());
}

TEST_CASE("print_stderr: formats short and long texts") {
  CHECK(leat_test::text_of_nonblocking_stderr([] {
          leat::detail::print_stderr("leat: %s, %d\n", "a", 1);
          leat::detail::print_stderr("%s", long_text().c_str());
          leat::detail::print_stderr("end\n");
        }) == "leat: a, 1\n" + long_text() + "end\n");
}

TEST_CASE("print_stderr: follows the text that the program has buffered") {
  CHECK(leat_test::text_of_nonblocking_stderr([] {
          std::setvbuf(stderr, nullptr, _IOFBF, BUFSIZ);
          std::fputs("first\n", stderr);
          leat::detail::print_stderr("second\n");
          std::setvbuf(stderr, nullptr, _IONBF, 0);
        }) == "first\nsecond\n");
}

TEST_CASE("is_stderr: recognizes the stream by its buffer") {
  std::ostringstream other;
  CHECK_FALSE(leat::detail::is_stderr(other));
  CHECK_FALSE(leat::detail::is_stderr(std::cout));
#ifdef __GLIBCXX__
  CHECK(leat::detail::is_stderr(std::cerr));
  std::ostream same(std::cerr.rdbuf());
  CHECK(leat::detail::is_stderr(same));
#endif
  std::streambuf* const before = std::cerr.rdbuf(other.rdbuf());
  CHECK_FALSE(leat::detail::is_stderr(std::cerr));
  std::cerr.rdbuf(before);
}

}  // namespace standard_error_test
