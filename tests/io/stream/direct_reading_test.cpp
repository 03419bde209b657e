// Readers that bypass the page cache, on the current file system.

#include <fcntl.h>

#include "leat/io/reader/fixed_length_reader.hpp"
#include "leat/io/reader/whole_file_reader.hpp"
#include "support/leat_test.hpp"
#include "support/records/record_files.hpp"
#include "support/temp_dir.hpp"

namespace direct_reading_test {

// Some file systems do not support O_DIRECT.
bool can_be_direct(const std::string& path) {
  const int f = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_DIRECT);
  if (f >= 0) ::close(f);
  return f >= 0;
}

std::string text_of_size(std::size_t size) {
  std::string text(size, ' ');
  for (std::size_t i = 0; i < size; ++i) {
    text[i] = i % 61 == 60 ? '\n' : static_cast<char>('a' + i * i % 26);
  }
  return text;
}

task<std::string> read_whole(std::string path, std::size_t chunk_size, bool& direct) {
  auto reader = co_await leat::line_reader::open(
      path, {.read = {.chunk_size = chunk_size, .depth = 3, .direct = true}});
  direct = reader->is_direct();
  leat::line_batch batch;
  std::string text;
  while (co_await reader->read_batch(batch)) {
    for (const std::string_view line : batch) text.append(line).append("\n");
  }
  co_return text;
}

TEST_CASE("read_options: direct reads return the same for any contents of the last sector") {
  const temp_dir dir;
  for (const std::size_t size : std::vector<std::size_t>{1, 511, 512, 513, 4095, 4096, 4097, 8192,
                                                         12'289, 300'000, 1'048'577}) {
    const std::string text = text_of_size(size - 1) + "\n";
    const std::string path = dir.write("f", text);
    for (const std::size_t chunk_size : std::vector<std::size_t>{1, 5000, 65'536, 1 << 20}) {
      bool direct = false;
      const std::string seen = leat::block_on(read_whole(path, chunk_size, direct));
      CHECK((seen == text));
      CHECK(direct == can_be_direct(path));
    }
  }
}

LEAT_REAL_TIME_TEST("read_options: direct reads resume at any record") {
  const temp_dir dir;
  const std::string path = dir.write("f", text_of_size(100'000));
  const leat::fixed_length_reader_options options{.record_size = 100,
                                                  .read = {.chunk_size = 8192, .direct = true}};
  auto reader = co_await leat::fixed_length_reader::open(path, options);
  const std::string text = text_of_size(100'000);
  leat::record_batch batch;
  for (const std::uint64_t index : std::vector<std::uint64_t>{999, 0, 41, 500, 123}) {
    reader->seek(index * 100, index);
    REQUIRE(co_await reader->read_batch(batch));
    CHECK(leat::as_text(batch[0]) == text.substr(index * 100, 100));
  }
}

LEAT_REAL_TIME_TEST(
    "read_options: direct reads of empty files, generated files and single records") {
  const temp_dir dir;
  bool direct = true;
  CHECK((co_await read_whole(dir.write("empty", ""), 4096, direct)).empty());
  CHECK_FALSE(direct);
  CHECK((co_await read_whole("/proc/self/status", 4096, direct)).starts_with("Name:"));
  CHECK_FALSE(direct);
  const std::string path = dir.write("one", text_of_size(777'777));
  auto reader = co_await leat::whole_file_reader::open(path, {.read = {.direct = true}});
  leat::record_batch batch;
  REQUIRE(co_await reader->read_batch(batch));
  CHECK((leat::as_text(batch[0]) == text_of_size(777'777)));
}

}  // namespace direct_reading_test
