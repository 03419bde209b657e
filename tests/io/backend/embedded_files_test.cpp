// Tests files of an embedded_scheduler with both backends.

#include "leat/io/backend/get_file_backend.hpp"
#include "leat/io/file/file.hpp"
#include "support/descriptors.hpp"
#include "support/leat_test.hpp"
#include "support/records/page_cache.hpp"
#include "support/records/record_files.hpp"
#include "support/temp_dir.hpp"

namespace embedded_files_test {

using leat::embedded_scheduler;
using leat::file_backend_choice;
using leat_test::texts;

// Runs a task in an event loop with the given backend.
void run(task<> t, file_backend_choice choice) {
  embedded_scheduler s;
  leat::task_group group;
  group.spawn_on(s, [](task<> body, file_backend_choice c) -> task<> {
    const leat::file_backend& files = leat::get_file_backend(leat::this_task::get_scheduler(), c);
    CHECK(files.name() == (c == file_backend_choice::threads ? "threads" : "io_uring"));
    co_await std::move(body);
  }(std::move(t), choice));
  leat_test::loop_until_idle(s);
  leat::block_on(group.join());
}

// Returns the backends that are available on this system.
std::vector<file_backend_choice> backends() {
  std::vector<file_backend_choice> all = {file_backend_choice::threads};
  try {
    run([]() -> task<> { co_return; }(), file_backend_choice::io_uring);
    all.push_back(file_backend_choice::io_uring);
  } catch (const leat::failure& e) {
    CHECK(e.code() == leat::errc::unavailable);
  }
  return all;
}

texts many_records() {
  texts records;
  for (int i = 0; i < 5000; ++i) {
    records.push_back("record " + std::to_string(i) +
                      std::string(static_cast<std::size_t>(i % 97), 'x'));
  }
  return records;
}

TEST_CASE("embedded_scheduler: TFRecord files are written and read") {
  const temp_dir dir;
  const texts records = many_records();
  for (const file_backend_choice choice : backends()) {
    const std::string path = dir / "a.tfrecord";
    run(leat_test::write_records(path, records, 1000), choice);
    for (int round = 0; round < 2; ++round) {
      texts read;
      run(leat_test::read_records_into(read, path, {.read = {.chunk_size = 4096, .depth = 3}}),
          choice);
      REQUIRE(read == records);
      leat_test::evict(path);
    }
  }
}

TEST_CASE("embedded_scheduler: is not idle until the reads of a destroyed reader complete") {
  const temp_dir dir;
  const std::string path = dir.write("lines", std::string(1 << 20, '\n'));
  for (const file_backend_choice choice : backends()) {
    for (int round = 0; round < 10; ++round) {
      leat_test::evict(path);
      run(
          [](std::string p) -> task<> {
            auto reader = co_await leat::line_reader::open(
                std::move(p), {.read = {.chunk_size = 4096, .depth = 8}});
            leat::line_batch batch;
            co_await reader->read_batch(batch);
          }(path),
          choice);
    }
  }
}

TEST_CASE("embedded_scheduler: closes a destroyed file before it is idle") {
  const temp_dir dir;
  const std::string path = dir.write("a", "text");
  for (const file_backend_choice choice : backends()) {
    run([]() -> task<> { co_return; }(), choice);  // creates cached objects
    const std::size_t before = leat_test::open_descriptors();
    run(
        [](std::string p) -> task<> {
          const leat::file f = co_await leat::file::open(std::move(p));
          CHECK(f.status().size == 4);
        }(path),
        choice);
    CHECK(leat_test::open_descriptors() == before);
  }
}

TEST_CASE("embedded_scheduler: two schedulers, each with files of its own") {
  const temp_dir dir;
  const texts records = many_records();
  const std::string path = dir / "b.tfrecord";
  run(leat_test::write_records(path, records, 1000), file_backend_choice::threads);
  embedded_scheduler one, other;
  leat::task_group group;
  texts first, second;
  group.spawn_on(one, leat_test::read_records_into(first, path));
  group.spawn_on(other, leat_test::read_records_into(second, path));
  while (!one.idle() || !other.idle()) {
    one.run_ready(3);
    other.run_ready(5);
  }
  leat::block_on(group.join());
  CHECK(one.find_service<leat::file_backend>() != other.find_service<leat::file_backend>());
  CHECK(first == records);
  CHECK(second == records);
}

}  // namespace embedded_files_test
