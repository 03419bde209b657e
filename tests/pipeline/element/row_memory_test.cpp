#include "leat/pipeline/element/detail/row_memory.hpp"

#include "pipeline/resuming.hpp"

namespace row_memory_test {

using leat::detail::row_bytes;
using leat::detail::row_memory;
using namespace leat_test;

std::string_view text_of(const row_bytes& row) { return {row.data(), row.size()}; }

void put(row_bytes& row, std::string_view text, row_memory* memory = nullptr) {
  row.assign(text.data(), text.size(), memory);
}

// The i-th of many rows, of about 4 KiB.
std::string text_at(std::size_t i) {
  return std::string(i * 257 % 8192, static_cast<char>('a' + i % 26));
}

TEST_CASE("row_bytes: reuses memory that is large enough, but not the memory of a large row",
          "[pipeline]") {
  row_bytes row;
  CHECK(row.size() == 0);
  put(row, "");
  CHECK(text_of(row).empty());
  put(row, std::string(1'000, 'x'));
  const char* const at = row.data();
  put(row, "short");
  CHECK(text_of(row) == "short");
  CHECK(row.data() == at);
  put(row, std::string(1'001, 'y'));
  CHECK(text_of(row) == std::string(1'001, 'y'));
  put(row, std::string(100'000, 'z'));
  CHECK(row.capacity() == 100'000);
  put(row, "short");
  CHECK(text_of(row) == "short");
  CHECK(row.capacity() == 5);
}

TEST_CASE("row_memory: few rows and large rows have separate memory", "[pipeline]") {
  constexpr std::size_t mib = std::size_t{1} << 20;
  row_memory memory;
  CHECK(memory.take(3 * mib) == nullptr);
  std::size_t bytes = 0;
  char* row = nullptr;
  for (; row == nullptr && bytes < 8 * mib; bytes += 1'000) row = memory.take(1'000);
  REQUIRE(row != nullptr);
  CHECK(bytes > 2 * mib - 20'000);
  CHECK(bytes < 2 * mib + 20'000);
  CHECK(memory.take(3 * mib) == nullptr);
  row_memory::give_back(row);
}

TEST_CASE("row_memory: rows outlive their block and can be swapped", "[pipeline]") {
  constexpr std::size_t count = 3'000;
  std::vector<row_bytes> rows(count);
  {
    row_memory memory;
    for (std::size_t i = 0; i < count; ++i) put(rows[i], text_at(i), &memory);
  }
  for (std::size_t i = 0; i < count; ++i) CHECK(text_of(rows[i]) == text_at(i));
  for (std::size_t i = 0; i < count / 2; ++i) std::swap(rows[i], rows[count - 1 - i]);
  for (std::size_t i = 0; i < count; i += 2) put(rows[i], text_at(i));  // larger, or smaller
  std::vector<row_bytes> moved = std::move(rows);
  for (std::size_t i = 0; i < count; ++i) {
    CHECK(text_of(moved[i]) == text_at(i % 2 == 0 ? i : count - 1 - i));
  }
  while (moved.size() > 1) moved.pop_back();
  CHECK(text_of(moved[0]) == text_at(0));
}

TEST_CASE("resume: a shuffle buffer of some MiB continues with rows of other sizes", "[pipeline]") {
  const temp_dir dir;
  std::string lines;
  for (std::size_t i = 0; i < 400; ++i) {
    lines += std::to_string(i) + std::string(i * 7'919 % 40'000, 'x') + '\n';
  }
  dir.write("lines", lines);
  const auto make = [&dir](std::optional<std::size_t> memory_budget) {
    return leat::read_files<leat::line_reader>({.files = {dir / "lines"}, .num_epochs = 3},
                                               {.memory_budget = memory_budget})
        .shuffle({.capacity = 300, .seed = 1})
        .map("text", [](std::string_view line) { return std::string(line); });
  };
  for (const bool counted : {false, true}) {
    std::optional<std::size_t> memory_budget;
    if (counted) memory_budget = std::size_t{64} << 20;
    const texts all = elements_of(make(memory_budget));
    REQUIRE(all.size() == 1'200);
    const auto [before, states] = run_and_save(make(memory_budget), 450);
    const texts after = elements_after(make(memory_budget), states.back());
    CHECK(texts(all.begin(), all.begin() + 450) == before);
    CHECK(elements_from(all, 450) == after);
  }
}

}  // namespace row_memory_test
