// Tests that destroy a scheduler while its files are open and their requests are under way.

#include <fcntl.h>
#include <sys/stat.h>
#include <thread>

#include "leat/io/backend/get_file_backend.hpp"
#include "leat/io/file/file.hpp"
#include "leat/io/reader/file_prefetcher.hpp"
#include "leat/io/reader/line_reader.hpp"
#include "support/descriptors.hpp"
#include "support/leat_test.hpp"
#include "support/loops.hpp"
#include "support/temp_dir.hpp"

namespace scheduler_end_files_test {

using leat::file_backend_choice;
using leat_test::asio_loop;
using leat_test::embedded_loop;
using leat_test::is_cancelled;

// Returns false if the system refuses a ring.
bool use_backend(leat::scheduler& sched, file_backend_choice choice) {
  try {
    static_cast<void>(leat::get_file_backend(sched, choice));
    return true;
  } catch (const leat::failure&) {
    return false;
  }
}

// Opens the descriptors that worker threads keep.
void warm_up(const temp_dir& dir) {
  for (const auto choice : {file_backend_choice::threads, file_backend_choice::io_uring}) {
    embedded_loop loop;
    if (!use_backend(loop.get_scheduler(), choice)) continue;
    leat::task_group group;
    REQUIRE(::mkfifo((dir / "warm").c_str(), 0600) == 0);
    const int writer = ::open((dir / "warm").c_str(), O_RDWR | O_CLOEXEC);
    REQUIRE(::write(writer, "x", 1) == 1);
    group.spawn_on(loop.get_scheduler(), [](std::string path) -> task<> {
      leat::file f = co_await leat::file::open(path);
      std::byte one[1];
      static_cast<void>(co_await f.read_at(leat::at_stream_position, one));
    }(dir / "warm"));
    while (group.live_tasks() > 0) loop.run_ready();
    leat::block_on(group.join());
    ::close(writer);
    ::unlink((dir / "warm").c_str());
  }
}

task<> read_stream(std::string path) {
  leat::file f = co_await leat::file::open(path);
  std::byte some[100];
  static_cast<void>(co_await f.read_at(leat::at_stream_position, some));
}

TEMPLATE_TEST_CASE("files and scheduler: a scheduler ends during a read of an empty pipe", "[io]",
                   asio_loop, embedded_loop) {
  const temp_dir dir;
  warm_up(dir);
  const std::string path = dir / "fifo";
  REQUIRE(::mkfifo(path.c_str(), 0600) == 0);
  const int writer = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
  const auto choice = GENERATE(file_backend_choice::threads, file_backend_choice::io_uring);
  const std::size_t before = leat_test::open_descriptors();
  leat::task_group group;
  {
    TestType loop;
    if (!use_backend(loop.get_scheduler(), choice)) return;
    group.spawn_on(loop.get_scheduler(), read_stream(path));
    for (int i = 0; i < 20; ++i) {
      loop.run_ready();
      std::this_thread::sleep_for(1ms);
    }
    SECTION("waits") {}
    SECTION("has ended, and the loop has not looked") {
      REQUIRE(::write(writer, "x", 1) == 1);
      std::this_thread::sleep_for(20ms);
    }
    loop.end();
  }
  CHECK(is_cancelled(group));
  CHECK(leat_test::open_descriptors() == before);
  ::close(writer);
}

TEMPLATE_TEST_CASE("files and scheduler: a reader outlives its scheduler", "[io]", asio_loop,
                   embedded_loop) {
  const temp_dir dir;
  warm_up(dir);
  const std::string path = dir / "fifo";
  REQUIRE(::mkfifo(path.c_str(), 0600) == 0);
  const int writer = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
  REQUIRE(::write(writer, "one\n", 4) == 4);
  const auto choice = GENERATE(file_backend_choice::threads, file_backend_choice::io_uring);
  const std::size_t before = leat_test::open_descriptors();
  {
    std::unique_ptr<leat::line_reader> reader;
    std::vector<std::string> lines;
    leat::task_group group;
    TestType loop;
    if (!use_backend(loop.get_scheduler(), choice)) return;
    group.spawn_on(loop.get_scheduler(),
                   [](std::string name, std::unique_ptr<leat::line_reader>& r,
                      std::vector<std::string>& out) -> task<> {
                     r = co_await leat::line_reader::open(name);
                     leat::line_batch batch;
                     while (co_await r->read_batch(batch)) {
                       for (const std::string_view line : batch) out.emplace_back(line);
                     }
                   }(path, reader, lines));
    for (int i = 0; i < 50; ++i) {
      loop.run_ready();
      std::this_thread::sleep_for(1ms);
    }
    loop.end();
    CHECK(is_cancelled(group));
    CHECK(lines == std::vector<std::string>{"one"});
  }
  CHECK(leat_test::open_descriptors() == before);
  ::close(writer);
}

// Opens, reads, writes, lists and closes in an infinite loop.
task<> work(std::string path, std::string other) {
  for (;;) {
    leat::file in = co_await leat::file::open(path);
    std::vector<std::byte> some(100'000);
    static_cast<void>(co_await in.read_at(0, some));
    leat::file out = co_await leat::file::open(other, leat::open_mode::write);
    co_await out.write_at(0, some);
    co_await out.sync();
    static_cast<void>(co_await leat::get_status(other));
    leat::file_prefetcher files({path, other, path});
    leat::loaded_file one;
    static_cast<void>(co_await files.next(one));
    co_await out.close();
    co_await leat::remove_file(other);
  }
}

TEMPLATE_TEST_CASE("files and scheduler: destruction at any time leaks no descriptor", "[io]",
                   asio_loop, embedded_loop) {
  const temp_dir dir;
  warm_up(dir);
  const std::string path = dir / "file";
  {
    const int n = ::open(path.c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
    const std::string text(300'000, 'x');
    REQUIRE(::write(n, text.data(), text.size()) == static_cast<ssize_t>(text.size()));
    ::close(n);
  }
  const auto choice = GENERATE(file_backend_choice::threads, file_backend_choice::io_uring);
  const std::size_t before = leat_test::open_descriptors();
  for (int round = 0; round < 60; ++round) {
    leat::task_group group;
    TestType loop;
    if (!use_backend(loop.get_scheduler(), choice)) return;
    for (int i = 0; i < 4; ++i) {
      group.spawn_on(loop.get_scheduler(), work(path, dir / ("other" + std::to_string(i))));
    }
    for (int turn = 0; turn <= round; ++turn) {
      loop.run_ready();
      if (turn % 7 == 3) std::this_thread::sleep_for(100us);
    }
    loop.end();
    CHECK(is_cancelled(group));
    CHECK(leat_test::open_descriptors() == before);
  }
}

}  // namespace scheduler_end_files_test
