// The rows that a shuffle buffer gives, and the memory that they come with.

#include "leat/pipeline/detail/drawn_rows.hpp"

#include <cstddef>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <catch2/catch.hpp>

namespace drawn_rows_test {

using rows = leat::detail::drawn_rows<std::string_view>;

std::vector<char> row_of(std::string_view text) { return {text.begin(), text.end()}; }

std::vector<std::string> texts_of(const rows& all) {
  std::vector<std::string> texts;
  for (const std::string_view row : all) texts.emplace_back(row);
  return texts;
}

TEST_CASE("drawn_rows: a row comes with its memory, and leaves that of one before", "[pipeline]") {
  rows drawn;
  std::vector<char> first = row_of("a first row");
  const char* const memory = first.data();
  drawn.exchange(first);
  CHECK(first.capacity() == 0);
  CHECK((*drawn.begin()).data() == memory);
  drawn.clear();
  CHECK(drawn.empty());
  std::vector<char> second = row_of("another");
  drawn.exchange(second);
  CHECK(second.data() == memory);
  CHECK(texts_of(drawn) == std::vector<std::string>{"another"});
}

TEST_CASE("drawn_rows: rows come in their order, of any size", "[pipeline]") {
  rows drawn;
  std::vector<std::string> texts;
  for (std::size_t size = 0; size < 5000; size = 3 * size + 1) {
    texts.emplace_back(size, 'x');
    drawn.push_back(texts.back());
  }
  CHECK(drawn.size() == texts.size());
  CHECK(texts_of(drawn) == texts);
  CHECK(*(drawn.begin() + 2) == texts[2]);
}

TEST_CASE("drawn_rows: what is left where rows were moved away is empty", "[pipeline]") {
  rows drawn;
  drawn.push_back("row");
  rows other = std::move(drawn);
  CHECK(texts_of(drawn).empty());
  drawn = std::move(other);
  CHECK(texts_of(other).empty());
  CHECK(texts_of(drawn) == std::vector<std::string>{"row"});
}

TEST_CASE(
    "drawn_rows: they are the run of a shuffle buffer of rows, and a batch is one piece again",
    "[pipeline]") {
  using namespace leat;
  CHECK(std::is_same_v<detail::drawn_run<line_batch>, rows>);
  CHECK(std::is_same_v<detail::drawn_run<line_rows>, rows>);
  CHECK(std::is_same_v<detail::drawn_run<rows>, rows>);
  CHECK(std::is_same_v<detail::owned_run<rows>, line_rows>);
  CHECK(std::is_same_v<detail::drawn_run<std::vector<int>>, std::vector<int>>);
}

}  // namespace drawn_rows_test
