#include "leat/io/backend/descriptor_path.hpp"

#include <array>
#include <cerrno>
#include <fcntl.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

#include "leat/io/file/file.hpp"
#include "leat/io/file/match_files.hpp"
#include "leat/io/reader/line_reader.hpp"
#include "leat/io/reader/tfrecord_reader.hpp"
#include "leat/sim/file_system/file_system.hpp"
#include "leat/sim/world/world.hpp"
#include "support/leat_test.hpp"
#include "support/records/record_bytes.hpp"
#include "support/records/record_files.hpp"
#include "support/temp_dir.hpp"

namespace descriptor_path_test {

using leat::descriptor_path;
using leat::file;
using leat_test::read_lines;
using leat_test::read_lines_until_stop;
using leat_test::texts;

// Two descriptors of the test, like those that a process inherits.
class ends {
 public:
  explicit ends(std::array<int, 2> both) : both_(both) {}
  ends(const ends&) = delete;
  ends& operator=(const ends&) = delete;
  ~ends() {
    close_writing();
    ::close(reading());
  }
  [[nodiscard]] int reading() const { return both_[0]; }
  void write(std::string_view text) const {
    REQUIRE(::write(both_[1], text.data(), text.size()) == static_cast<ssize_t>(text.size()));
  }
  void close_writing() {
    if (both_[1] >= 0) ::close(both_[1]);
    both_[1] = -1;
  }

 private:
  std::array<int, 2> both_;
};

std::array<int, 2> make_pipe() {
  std::array<int, 2> both{};
  REQUIRE(::pipe2(both.data(), O_CLOEXEC) == 0);
  return both;
}

std::array<int, 2> make_sockets() {
  std::array<int, 2> both{};
  REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, both.data()) == 0);
  return both;
}

// A file of the test, open for reading.
struct open_file : temp_dir {
  explicit open_file(const std::string& text)
      : descriptor(::open(write("file", text).c_str(), O_RDONLY | O_CLOEXEC)) {}
  ~open_file() { ::close(descriptor); }
  [[nodiscard]] off_t offset() const { return ::lseek(descriptor, 0, SEEK_CUR); }
  void seek(off_t to) const { ::lseek(descriptor, to, SEEK_SET); }
  const int descriptor;
};

TEST_CASE("descriptor_path: names a descriptor") {
  using leat::detail::descriptor_of_path;
  CHECK(descriptor_path(0) == "/dev/fd/0");
  CHECK(descriptor_path(37) == "/dev/fd/37");
  CHECK(descriptor_of_path("/dev/stdin") == 0);
  CHECK(descriptor_of_path("/dev/fd/37") == 37);
  for (const char* const other : {"", "/dev/stdout", "/dev/fd", "/dev/fd/", "/dev/fd/-1",
                                  "/dev/fd/1x", "/dev/fd/99999999999", "dev/fd/1", "/tmp/dev/fd/1"})
    CHECK_FALSE(descriptor_of_path(other));
}

TEST_CASE("descriptor_path: a file is read from the current offset, which moves") {
  const open_file f("header\none\ntwo\n");
  f.seek(7);
  CHECK(leat::block_on(read_lines(descriptor_path(f.descriptor))) == texts{"one", "two"});
  CHECK(f.offset() == 15);
  CHECK(leat::block_on(read_lines(descriptor_path(f.descriptor))).empty());
  CHECK(::fcntl(f.descriptor, F_GETFD) >= 0);  // it stays open
}

TEST_CASE("descriptor_path: a file that is not in the page cache is read, too") {
  texts all;
  std::string text;
  for (int i = 0; i < 300'000; ++i) text += all.emplace_back("line " + std::to_string(i)) + "\n";
  const open_file f(text);
  REQUIRE(::fsync(f.descriptor) == 0);
  ::posix_fadvise(f.descriptor, 0, 0, POSIX_FADV_DONTNEED);
  CHECK(leat::block_on(read_lines(descriptor_path(f.descriptor))) == all);
}

LEAT_REAL_TIME_TEST("descriptor_path: positions count from the first byte that was read") {
  const std::string records = leat_test::framed({"a", "bc"});
  const open_file f("shell script\n" + records + "\n");
  f.seek(13);
  const std::string path = descriptor_path(f.descriptor);
  const auto reader = co_await leat::tfrecord_reader::open(path);
  CHECK(reader->status().is_stream);
  CHECK_FALSE(reader->status().is_regular);
  CHECK(reader->status().size == 0);
  leat::record_batch batch;
  REQUIRE(co_await reader->read_batch(batch));
  CHECK(batch.size() == 2);
  CHECK(batch.position(1).offset == 17);
  CHECK(batch.position(1).path == path);
  CHECK_THROWS_AS(reader->seek(0, 0), leat::failure);
}

TEST_CASE("descriptor_path: a socket and a pipe are read") {
  for (const auto& make : {make_pipe, make_sockets}) {
    ends e(make());
    e.write("one\ntwo\n");
    e.close_writing();
    CHECK(leat::block_on(read_lines(descriptor_path(e.reading()))) == texts{"one", "two"});
  }
}

LEAT_REAL_TIME_TEST("descriptor_path: a file remains readable after the descriptor is closed") {
  ends e(make_pipe());
  const int copy = ::dup(e.reading());
  auto reader = co_await leat::line_reader::open(descriptor_path(copy));
  ::close(copy);
  e.write("one\n");
  leat::line_batch batch;
  REQUIRE(co_await reader->read_batch(batch));
  CHECK(batch[0] == "one");
  reader.reset();
  CHECK(::fcntl(e.reading(), F_GETFD) >= 0);
}

TEST_CASE("descriptor_path: a stop ends the wait for a blocking or nonblocking pipe") {
  for (const int flags : {0, O_NONBLOCK}) {
    ends e(make_pipe());
    REQUIRE(::fcntl(e.reading(), F_SETFL, flags) == 0);
    const int before = ::fcntl(e.reading(), F_GETFL);
    // At the stop, the read waits or has not started; both end.
    CHECK(leat::block_on(read_lines_until_stop(descriptor_path(e.reading()), 2ms)).empty());
    CHECK(::fcntl(e.reading(), F_GETFL) == before);
    e.write("later\n");
    e.close_writing();
    CHECK(leat::block_on(read_lines(descriptor_path(e.reading()))) == texts{"later"});
  }
}

// Both wait for the same data, and one of them receives none of it.
LEAT_REAL_TIME_TEST("descriptor_path: two readers of a blocking pipe share the data") {
  ends e(make_pipe());
  texts first, second;
  leat::task_group group;
  group.spawn(leat_test::read_lines_into(first, descriptor_path(e.reading())));
  group.spawn(leat_test::read_lines_into(second, descriptor_path(e.reading())));
  for (std::size_t lines = 1; lines <= 20; ++lines) {
    e.write("line\n");
    while (first.size() + second.size() < lines) co_await leat::sleep_for(100us);
  }
  group.request_stop();
  co_await group.join();
  CHECK(first.size() + second.size() == 20);
}

TEST_CASE("descriptor_path: a descriptor that cannot be read is refused when it is opened") {
  const auto message = [](const std::string& path, const auto& expected) {
    try {
      leat::block_on(read_lines(path));
    } catch (const leat::failure& e) {
      CHECK(e.code() == expected);
      return std::string(e.what());
    }
    return std::string();
  };
  const ends e(make_pipe());
  const int closed = 900'000;
  CHECK(contains(message(descriptor_path(closed), std::errc::bad_file_descriptor),
                 descriptor_path(closed) + ": cannot open: Bad file descriptor"));
  const int event = ::eventfd(0, EFD_CLOEXEC);  // like one of the library after close(0)
  CHECK(contains(message(descriptor_path(event), std::errc::bad_file_descriptor), "cannot open"));
  ::close(event);
  const int writing = ::open("/dev/null", O_WRONLY | O_CLOEXEC);
  CHECK(contains(message(descriptor_path(writing), std::errc::bad_file_descriptor), "cannot open"));
  ::close(writing);
  const int directory = ::open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  CHECK(contains(message(descriptor_path(directory), errc::failed_precondition), "cannot read"));
  ::close(directory);
  CHECK(
      contains(error_of(read_lines(descriptor_path(e.reading()), {.read = {.regular_only = true}}),
                        errc::failed_precondition),
               "not a regular file"));
}

TEST_CASE("descriptor_path: a pattern without wildcards finds it") {
  const ends e(make_sockets());
  const std::string path = descriptor_path(e.reading());
  CHECK(leat::block_on(leat::match_files({path})) == std::vector<std::string>{path});
  CHECK(leat::block_on(leat::match_files({path}, {.regular_only = true})).empty());
  CHECK(leat::block_on(leat::get_status(path)).is_stream);
}

TEST_CASE("descriptor_path: a simulated world has files of these names") {
  leat::sim::run(1, [](leat::sim::world& w) -> task<> {
    w.files().make_pipe("/dev/fd/0");
    w.files().write_pipe("/dev/fd/0", "one\ntwo\n");
    w.files().close_pipe("/dev/fd/0");
    const texts lines = co_await read_lines(descriptor_path(0));
    CHECK(lines == texts{"one", "two"});
  });
}

}  // namespace descriptor_path_test
