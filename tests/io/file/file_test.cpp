#include "leat/io/file/file.hpp"

#include <chrono>
#include <string>
#include <sys/stat.h>
#include <unistd.h>
#include <vector>

#include <catch2/catch.hpp>

#include "leat/async/loop/block_on.hpp"
#include "leat/async/sleep.hpp"
#include "leat/async/task_group.hpp"
#include "leat/base/internal/exclusive_use.hpp"
#include "support/error_of.hpp"
#include "support/leat_test.hpp"
#include "support/temp_dir.hpp"

namespace file_test {

using leat::errc;
using leat::file;
using leat::open_mode;
using leat::task;
using leat_test::error_of;

std::vector<std::byte> bytes_of(std::string_view text) {
  const auto* const begin = reinterpret_cast<const std::byte*>(text.data());
  return {begin, begin + text.size()};
}

std::string text_of(const std::vector<std::byte>& bytes, std::size_t size) {
  return {reinterpret_cast<const char*>(bytes.data()), size};
}

task<> open_and_close(std::string path, open_mode mode) {
  file f = co_await file::open(std::move(path), mode);
  co_await f.close();
}

TEST_CASE("file: reads what it wrote", "[io]") {
  const temp_dir dir;
  leat::block_on([](std::string path) -> task<> {
    file out = co_await file::open(path, open_mode::write);
    CHECK(out.path() == path);
    co_await out.write_at(0, bytes_of("hello world"));
    co_await out.write_at(6, bytes_of("there"));
    co_await out.sync();
    co_await out.close();
    co_await out.close();  // does nothing
    CHECK_FALSE(out.is_open());

    file in = co_await file::open(path);
    CHECK(in.status().size == 11);
    CHECK(in.status().is_regular);
    std::vector<std::byte> buffer(100);
    std::size_t n = co_await in.read_at(0, buffer);
    CHECK(text_of(buffer, n) == "hello there");
    n = co_await in.read_at(6, std::span(buffer).first(3));
    CHECK(text_of(buffer, n) == "the");
    n = co_await in.read_at(11, buffer);
    CHECK(n == 0);
  }(dir / "a"));
}

TEST_CASE("file: opens in every mode", "[io]") {
  const temp_dir dir;
  const std::string there = dir.write("there", "content");
  CHECK(error_of(open_and_close(dir / "no", open_mode::read), errc::not_found).find(dir / "no") !=
        std::string::npos);
  CHECK(error_of(open_and_close(there, open_mode::write_new), errc::already_exists).find(there) !=
        std::string::npos);
  CHECK_FALSE(
      error_of(open_and_close(dir / "", open_mode::read), errc::failed_precondition).empty());
  leat::block_on(open_and_close(there, open_mode::write));
  const auto status = leat::block_on(leat::get_status(there));
  CHECK(status.size == 0);  // emptied
  leat::block_on(open_and_close(dir / "new", open_mode::write_new));
}

TEST_CASE("file: truncate shortens, or extends with zeros", "[io]") {
  const temp_dir dir;
  const std::string path = dir.write("a", "0123456789");
  leat::block_on([](std::string p) -> task<> {
    file f = co_await file::open(p, open_mode::read_write);
    co_await f.truncate(4);
    std::vector<std::byte> buffer(100);
    std::size_t n = co_await f.read_at(0, buffer);
    CHECK(text_of(buffer, n) == "0123");
    co_await f.truncate(6);
    co_await f.write_at(5, bytes_of("x"));
    n = co_await f.read_at(0, buffer);
    CHECK(text_of(buffer, n) == std::string("0123\0x", 6));
  }(path));
  const auto on_a_reader = [](std::string p) -> task<> {
    file f = co_await file::open(p);
    co_await f.truncate(0);
  };
  const std::string what = error_of(on_a_reader(path), errc::invalid_argument);
  CHECK(what.find(path + ": cannot truncate to 0 bytes") != std::string::npos);
  CHECK(error_of(open_and_close(dir / "no", open_mode::read_write), errc::not_found).find("no") !=
        std::string::npos);
}

TEST_CASE("file: the destructor closes it", "[io]") {
  const temp_dir dir;
  const std::string path = dir.write("a", "x");
  leat::block_on([](std::string p) -> task<> {
    for (int i = 0; i < 5000; ++i) {  // more than a process may have open
      const file f = co_await file::open(p);
    }
  }(path));
}

TEST_CASE("file: names are listed, changed and removed", "[io]") {
  const temp_dir dir;
  dir.write("b", "1");
  dir.write("a", "2");
  leat::block_on([](std::string at) -> task<> {
    std::vector<std::string> names = co_await leat::list_directory(at);
    CHECK(names == std::vector<std::string>{"a", "b"});
    co_await leat::rename_file(at + "/a", at + "/c");
    co_await leat::remove_file(at + "/b");
    co_await leat::sync_directory(at);
    names = co_await leat::list_directory(at);
    CHECK(names == std::vector<std::string>{"c"});
    leat::file_status status = co_await leat::get_status(at + "/c");
    CHECK(status.is_regular);
    CHECK(status.size == 1);
    status = co_await leat::get_status(at);
    CHECK(status.is_directory);
  }(dir / "."));
  CHECK_FALSE(error_of([](std::string p) -> task<> { co_await leat::remove_file(p); }(dir / "no"),
                       errc::not_found)
                  .empty());
}

// Root may read every file, so the scope runs as another user.
class plain_user {
 public:
  static constexpr uid_t nobody = 65534;
  plain_user() {
    if (was_ == 0) REQUIRE(::seteuid(nobody) == 0);
  }
  ~plain_user() { static_cast<void>(::seteuid(was_)); }
  plain_user(const plain_user&) = delete;
  plain_user& operator=(const plain_user&) = delete;

 private:
  const uid_t was_ = ::geteuid();
};

TEST_CASE("file: make_directories creates missing parents", "[io]") {
  const temp_dir dir;
  leat::block_on([](const temp_dir& d) -> task<> {
    co_await leat::make_directories(d / "a" + "/b//c/");
    const leat::file_status made = co_await leat::get_status(d / "a" + "/b/c");
    CHECK(made.is_directory);
    co_await leat::make_directories(d / "a");
    co_await leat::make_directories("");
    co_await leat::make_directories("/");
    co_await leat::make_directories(".");
  }(dir));
  dir.write("file", "");
  const std::string said =
      error_of(leat::make_directories(dir / "file" + "/below"), errc::failed_precondition);
  CHECK(said.find(dir / "file") == 0);
  CHECK(error_of(leat::make_directories(dir / "file"), errc::failed_precondition) != "");
}

TEST_CASE("file: holds a lock until it is closed", "[io]") {
  const temp_dir dir;
  leat::block_on([](std::string path) -> task<> {
    file first = co_await file::open(path, open_mode::append);
    file second = co_await file::open(path, open_mode::append);
    CHECK(co_await first.try_lock());
    CHECK(co_await first.try_lock());
    CHECK_FALSE(co_await second.try_lock());
    co_await first.close();
    CHECK(co_await second.try_lock());
  }(dir / "lock"));
}

TEST_CASE("file: a directory that may be written to but not read is synced", "[io]") {
  const temp_dir dir;
  const std::string inner = dir / "inner";
  REQUIRE(::mkdir(inner.c_str(), 0755) == 0);
  if (::geteuid() == 0) {
    REQUIRE(::chmod(dir.path().c_str(), 0755) == 0);
    REQUIRE(::chown(inner.c_str(), plain_user::nobody, plain_user::nobody) == 0);
  }
  REQUIRE(::chmod(inner.c_str(), 0300) == 0);
  const plain_user somebody;
  CHECK(error_of([](std::string p) -> task<> { co_await leat::list_directory(p); }(inner),
                 errc::permission_denied)
            .find(inner) != std::string::npos);
  leat::block_on([](std::string p) -> task<> {
    file f = co_await file::open(p + "/new", open_mode::write_new);
    co_await f.close();
    co_await leat::sync_directory(p);
  }(inner));
}

TEST_CASE("file: operations on a closed file fail with its path", "[io]") {
  const auto read = []() -> task<> {
    file f;
    std::vector<std::byte> buffer(1);
    co_await f.read_at(0, buffer);
  };
  CHECK(error_of(read(), errc::failed_precondition).find("not open") != std::string::npos);
}

TEST_CASE("file: a path with a NUL byte is refused", "[io]") {
  const temp_dir dir;
  const std::string path = dir.write("a", "") + std::string("\0b", 2);
  CHECK(error_of(open_and_close(path, open_mode::read), errc::invalid_argument).find("NUL") !=
        std::string::npos);
}

TEST_CASE("exclusive_use: a concurrent second use aborts with a message", "[io]") {
  const std::string said = leat_test::abort_message([] {
    leat::detail::exclusive_use reader;
    const leat::detail::exclusive_use::guard first(reader);
    const leat::detail::exclusive_use::guard second(reader);
  });
  CHECK(said.find("used by two tasks at the same time") != said.npos);
}

// ---------------------------------------------------------------------------------------- stop

// Writes until it is stopped, and counts the writes.
task<> write_on(std::string path, int& writes) {
  file f = co_await file::open(std::move(path), open_mode::write);
  const std::vector<std::byte> data = bytes_of("data");
  for (;;) {
    co_await f.write_at(0, data);
    ++writes;
  }
}

TEST_CASE("file: a stopped task starts no new operation", "[io]") {
  const temp_dir dir;
  int writes = 0;
  leat::block_on([](std::string path, int& n) -> task<> {
    leat::task_group before;
    before.request_stop();
    before.spawn(write_on(path, n));
    co_await before.join();
    CHECK(n == 0);

    leat::task_group during;
    during.spawn(write_on(path, n));
    while (n == 0) co_await leat::sleep_for(std::chrono::milliseconds(1));
    during.request_stop();
    co_await during.join();  // it would never end by itself
  }(dir / "a", writes));
}

TEST_CASE("file: a stopped task may close what it has open", "[io]") {
  const temp_dir dir;
  bool closed = false;
  leat::block_on([](std::string path, bool& done) -> task<> {
    leat::task_group group;
    group.spawn([](std::string p, leat::task_group& g, bool& d) -> task<> {
      file f = co_await file::open(p, open_mode::write);
      g.request_stop();
      co_await f.close();
      d = true;
    }(path, group, done));
    co_await group.join();
  }(dir / "a", closed));
  CHECK(closed);
}

}  // namespace file_test
