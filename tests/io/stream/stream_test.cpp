// Pipes, terminals and files that the kernel generates: files without a size, or with a false one.

#include <array>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <fcntl.h>
#include <pthread.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <thread>

#include "leat/base/internal/sanitizers.hpp"
#include "leat/io/file/file.hpp"
#include "leat/io/reader/line_reader.hpp"
#include "support/leat_test.hpp"
#include "support/records/record_files.hpp"
#include "support/temp_dir.hpp"

namespace stream_test {

using leat::file;
using leat_test::texts;

std::string make_fifo(const temp_dir& dir, const std::string& name) {
  const std::string path = dir / name;
  REQUIRE(::mkfifo(path.c_str(), 0600) == 0);
  return path;
}

// Owns the writing end of a pipe in a thread.
class writer {
 public:
  explicit writer(const std::string& path) : number_(::open(path.c_str(), O_WRONLY | O_CLOEXEC)) {}
  ~writer() { ::close(number_); }
  writer(const writer&) = delete;
  writer& operator=(const writer&) = delete;
  void write(std::string_view text) const {
    while (!text.empty()) {
      const ssize_t n = ::write(number_, text.data(), text.size());
      if (n <= 0) return;
      text.remove_prefix(static_cast<std::size_t>(n));
    }
  }

 private:
  int number_;
};

TEST_CASE("file: returns lines of a pipe as they are written") {
  const temp_dir dir;
  const std::string path = make_fifo(dir, "fifo");
  texts expected;
  for (int i = 0; i < 20'000; ++i) expected.push_back("line " + std::to_string(i));
  const std::jthread other([&] {
    const writer w(path);
    std::string some;
    for (const std::string& line : expected) {
      some += line + "\n";
      if (some.size() < 3000) continue;
      w.write(some);
      some.clear();
    }
    w.write(some);
  });
  CHECK(leat::block_on(leat_test::read_lines(path)) == expected);
}

TEST_CASE("file: a pipe without a writer is opened, and a stop ends the wait for data") {
  const temp_dir dir;
  const std::string path = make_fifo(dir, "fifo");
  // At the stop, the read waits or has not started; both end.
  CHECK(leat::block_on(leat_test::read_lines_until_stop(path, 2ms)).empty());
}

LEAT_REAL_TIME_TEST("file: empty pipes do not block other files") {
  const temp_dir dir;
  std::vector<std::string> pipes;
  for (int i = 0; i < 20; ++i) pipes.push_back(make_fifo(dir, std::to_string(i)));
  const std::string path = dir.write("file", "text");
  leat::task_group group;
  texts nothing;
  for (const std::string& pipe : pipes) group.spawn(leat_test::read_lines_into(nothing, pipe));
  for (int i = 0; i < 100; ++i) {
    file f = co_await file::open(path, leat::open_mode::write);
    const std::vector<std::byte> data(100);
    co_await f.write_at(0, data);
    co_await f.close();
    CHECK((co_await leat::list_directory(dir.path())).size() == 21);
  }
  group.request_stop();
  co_await group.join();
}

LEAT_REAL_TIME_TEST("file: a stop while a pipe is empty loses nothing that comes later") {
  const temp_dir dir;
  const std::string path = make_fifo(dir, "fifo");
  std::atomic<bool> stopped{false};
  const std::jthread other([&] {
    const writer w(path);
    w.write("one\ntwo");
    stopped.wait(false);
    w.write("\nthree\n");
  });
  auto reader = co_await leat::line_reader::open(path);
  texts all;
  const auto read_on = [](leat::line_reader& r, texts& out) -> task<> {
    leat::line_batch batch;
    while (co_await r.read_batch(batch)) out.insert(out.end(), batch.begin(), batch.end());
  };
  leat::task_group group;
  group.spawn(read_on(*reader, all));
  while (all.empty()) co_await leat::sleep_for(1ms);
  group.request_stop();
  co_await group.join();
  CHECK(all == texts{"one"});
  stopped = true;
  stopped.notify_one();
  co_await read_on(*reader, all);
  CHECK(all == texts{"one", "two", "three"});
}

LEAT_REAL_TIME_TEST("file: a stopped read of a pipe returns the bytes that it took") {
  const temp_dir dir;
  const std::string path = make_fifo(dir, "fifo");
  const int both_ends = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
  REQUIRE(both_ends >= 0);
  REQUIRE(::write(both_ends, "12345", 5) == 5);
  leat::task_group group;
  std::size_t size = 0;
  std::array<std::byte, 100> buffer{};
  group.spawn([](std::string name, std::span<std::byte> to, std::size_t& n) -> task<> {
    file f = co_await file::open(name);
    CHECK(f.status().is_stream);
    n = co_await f.read_at(leat::at_stream_position, to);
  }(path, buffer, size));
  for (int left = 5; left > 0;) {
    co_await leat::sleep_for(1ms);
    REQUIRE(::ioctl(both_ends, FIONREAD, &left) == 0);
  }
  group.request_stop();
  co_await group.join();
  CHECK(size == 5);
  CHECK(buffer[4] == std::byte{'5'});
  ::close(both_ends);
}

TEST_CASE("file: writes to a pipe up to its free capacity") {
  const temp_dir dir;
  const std::string path = make_fifo(dir, "fifo");
  const auto write = [](std::string p, std::vector<std::byte> data) -> task<> {
    file f = co_await file::open(p, leat::open_mode::write);
    co_await f.write_at(leat::at_stream_position, data);
    co_await f.close();
  };
  const std::vector<std::byte> data(1 << 20, std::byte{'x'});
  // Without a reader, the write fails immediately instead of waiting.
  CHECK_THROWS_AS(leat::block_on(write(path, data)), leat::failure);
  const int reader =
      ::open(path.c_str(), O_RDWR | O_CLOEXEC);  // without a writer it would be at its end
  REQUIRE(reader >= 0);
  std::size_t got = 0;
  const std::jthread other([&] {
    std::array<char, 1000> some;
    while (got < data.size()) {
      const ssize_t n = ::read(reader, some.data(), some.size());
      if (n <= 0) break;
      got += static_cast<std::size_t>(n);
    }
    ::close(reader);
  });
  leat::block_on(write(path, data));
}

TEST_CASE("file: reads a generated file to its end, for any reported size") {
  const std::string thp = "/sys/kernel/mm/transparent_hugepage/enabled";  // states a size of 4096
  if (::access(thp.c_str(), R_OK) == 0) {
    const texts lines = leat::block_on(leat_test::read_lines(thp));
    REQUIRE(lines.size() == 1);
    CHECK(contains(lines[0], "madvise"));
    CHECK(leat::block_on(leat::get_status(thp)).size == 0);
  }
  const texts maps = leat::block_on(leat_test::read_lines("/proc/self/maps"));  // size 0
  CHECK(maps.size() > 10);
  CHECK(leat::block_on(leat_test::read_lines("/dev/null")).empty());
}

TEST_CASE("file: a sparse file ends at its size") {
  const temp_dir dir;
  const std::string path = dir.write("hole", "");
  REQUIRE(::truncate(path.c_str(), 100'000) == 0);
  CHECK(leat::block_on(leat::get_status(path)).size == 100'000);
  CHECK(leat::block_on(file::open(path)).status().size == 100'000);
}

TEST_CASE("file: an error of reading names the file") {
  const temp_dir dir;
  const auto read = [](std::string p) -> task<> { co_await leat_test::read_lines(std::move(p)); };
  CHECK(contains(error_of(read(dir.path()), errc::failed_precondition), dir.path()));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::string path = dir / "socket";
  REQUIRE(path.size() < sizeof address.sun_path);
  path.copy(address.sun_path, path.size());
  const int s = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  REQUIRE(::bind(s, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0);
  CHECK(contains(leat::block_on(message_of(read(path))), path));
  ::close(s);
}

// The first wait for a pipe starts a thread.
TEST_CASE("file: the error names the thread for pipes if it cannot be started") {
  if (LEAT_TSAN) return;  // TSan ends a child that starts a thread
  const temp_dir dir;
  const std::string path = make_fifo(dir, "pipe");
  const int other_end = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
  const std::string said = leat_test::abort_message([&path] {
    ::setenv("LEAT_IO", "threads", 1);
    pthread_attr_t too_large;  // a stack larger than any address space
    ::pthread_attr_init(&too_large);
    ::pthread_attr_setstacksize(&too_large, std::size_t{1} << 47);
    ::pthread_setattr_default_np(&too_large);
    try {
      leat::block_on([](std::string from) -> task<> {
        auto reader = co_await leat::line_reader::open(from);
        leat::line_batch lines;
        co_await reader->read_batch(lines);
      }(path));
    } catch (const leat::failure& e) {
      std::fprintf(stderr, "%s\n", e.what());
      if (e.code() == std::errc::resource_unavailable_try_again) std::abort();
    }
  });
  ::close(other_end);
  INFO(said);
  CHECK(said.starts_with(path + ": cannot read"));
  CHECK(contains(
      said, "the thread that waits for pipes, terminals and sockets cannot be started: raise"));
}

}  // namespace stream_test
