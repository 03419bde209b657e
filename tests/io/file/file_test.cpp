#include "leat/io/file/file.hpp"

#include <sys/stat.h>

#include "leat/base/internal/exclusive_use.hpp"
#include "support/leat_test.hpp"
#include "support/temp_dir.hpp"

namespace file_test {

using leat::file;
using leat::open_mode;

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

LEAT_REAL_TIME_TEST("file: reads what it wrote") {
  const temp_dir dir;
  const std::string path = dir / "a";
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
}

TEST_CASE("file: opens in every mode") {
  const temp_dir dir;
  const std::string there = dir.write("there", "content");
  CHECK(
      contains(error_of(open_and_close(dir / "no", open_mode::read), errc::not_found), dir / "no"));
  CHECK(
      contains(error_of(open_and_close(there, open_mode::write_new), errc::already_exists), there));
  CHECK_FALSE(
      error_of(open_and_close(dir / "", open_mode::read), errc::failed_precondition).empty());
  leat::block_on(open_and_close(there, open_mode::write));
  const auto status = leat::block_on(leat::get_status(there));
  CHECK(status.size == 0);  // emptied
  leat::block_on(open_and_close(dir / "new", open_mode::write_new));
}

LEAT_REAL_TIME_TEST("file: truncate shortens, or extends with zeros") {
  const temp_dir dir;
  const std::string path = dir.write("a", "0123456789");
  file f = co_await file::open(path, open_mode::read_write);
  co_await f.truncate(4);
  std::vector<std::byte> buffer(100);
  std::size_t n = co_await f.read_at(0, buffer);
  CHECK(text_of(buffer, n) == "0123");
  co_await f.truncate(6);
  co_await f.write_at(5, bytes_of("x"));
  n = co_await f.read_at(0, buffer);
  CHECK(text_of(buffer, n) == std::string("0123\0x", 6));
  file in = co_await file::open(path);
  CHECK(contains(co_await message_of(in.truncate(0), errc::invalid_argument),
                 path + ": cannot truncate to 0 bytes"));
  const std::string missing = dir / "no";
  CHECK(contains(
      co_await message_of(open_and_close(missing, open_mode::read_write), errc::not_found), "no"));
}

LEAT_REAL_TIME_TEST("file: the destructor closes it") {
  const temp_dir dir;
  const std::string path = dir.write("a", "x");
  for (int i = 0; i < 5000; ++i) {  // more than a process may have open
    const file f = co_await file::open(path);
  }
}

LEAT_REAL_TIME_TEST("file: names are listed, changed and removed") {
  const temp_dir dir;
  dir.write("b", "1");
  dir.write("a", "2");
  const std::string at = dir / ".";
  std::vector<std::string> names = co_await leat::list_directory(at);
  CHECK(names == std::vector<std::string>{"a", "b"});
  co_await leat::rename_file(at + "/a", at + "/c");
  co_await leat::remove_file(at + "/b");
  co_await leat::sync_directory(at);
  names = co_await leat::list_directory(at);
  CHECK(names == std::vector<std::string>{"c"});
  const leat::file_status status = co_await leat::get_status(at + "/c");
  CHECK(status.is_regular);
  CHECK(status.size == 1);
  CHECK((co_await leat::get_status(at)).is_directory);
  CHECK(co_await code_of(leat::remove_file(dir / "no")) == errc::not_found);
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

LEAT_REAL_TIME_TEST("file: make_directories creates missing parents") {
  const temp_dir dir;
  co_await leat::make_directories(dir / "a" + "/b//c/");
  CHECK((co_await leat::get_status(dir / "a" + "/b/c")).is_directory);
  co_await leat::make_directories(dir / "a");
  co_await leat::make_directories("");
  co_await leat::make_directories("/");
  co_await leat::make_directories(".");
  const std::string path = dir.write("file", "");
  const std::string said =
      co_await message_of(leat::make_directories(path + "/below"), errc::failed_precondition);
  CHECK(said.starts_with(path));
  CHECK(co_await code_of(leat::make_directories(path)) == errc::failed_precondition);
}

LEAT_REAL_TIME_TEST("file: holds a lock until it is closed") {
  const temp_dir dir;
  const std::string path = dir / "lock";
  file first = co_await file::open(path, open_mode::append);
  file second = co_await file::open(path, open_mode::append);
  CHECK(co_await first.try_lock());
  CHECK(co_await first.try_lock());
  CHECK_FALSE(co_await second.try_lock());
  co_await first.close();
  CHECK(co_await second.try_lock());
}

TEST_CASE("file: a directory that may be written to but not read is synced") {
  const temp_dir dir;
  const std::string inner = dir / "inner";
  REQUIRE(::mkdir(inner.c_str(), 0755) == 0);
  if (::geteuid() == 0) {
    REQUIRE(::chmod(dir.path().c_str(), 0755) == 0);
    REQUIRE(::chown(inner.c_str(), plain_user::nobody, plain_user::nobody) == 0);
  }
  REQUIRE(::chmod(inner.c_str(), 0300) == 0);
  const plain_user somebody;
  CHECK(contains(error_of([](std::string p) -> task<> { co_await leat::list_directory(p); }(inner),
                          errc::permission_denied),
                 inner));
  leat::block_on([](std::string p) -> task<> {
    file f = co_await file::open(p + "/new", open_mode::write_new);
    co_await f.close();
    co_await leat::sync_directory(p);
  }(inner));
}

LEAT_REAL_TIME_TEST("file: operations on a closed file fail with its path") {
  file f;
  std::vector<std::byte> buffer(1);
  CHECK(contains(co_await message_of(f.read_at(0, buffer), errc::failed_precondition), "not open"));
}

TEST_CASE("file: a path with a NUL byte is refused") {
  const temp_dir dir;
  const std::string path = dir.write("a", "") + std::string("\0b", 2);
  CHECK(contains(error_of(open_and_close(path, open_mode::read), errc::invalid_argument), "NUL"));
}

TEST_CASE("exclusive_use: a concurrent second use aborts with a message") {
  const std::string said = leat_test::abort_message([] {
    leat::detail::exclusive_use reader;
    const leat::detail::exclusive_use::guard first(reader);
    const leat::detail::exclusive_use::guard second(reader);
  });
  CHECK(contains(said, "used by two tasks at the same time"));
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

LEAT_REAL_TIME_TEST("file: a stopped task starts no new operation") {
  const temp_dir dir;
  int writes = 0;
  const std::string path = dir / "a";
  leat::task_group before;
  before.request_stop();
  before.spawn(write_on(path, writes));
  co_await before.join();
  CHECK(writes == 0);

  leat::task_group during;
  during.spawn(write_on(path, writes));
  while (writes == 0) co_await leat::sleep_for(std::chrono::milliseconds(1));
  during.request_stop();
  co_await during.join();  // it would never end by itself
}

LEAT_REAL_TIME_TEST("file: a stopped task may close what it has open") {
  const temp_dir dir;
  bool closed = false;
  leat::task_group group;
  group.spawn([](std::string p, leat::task_group& g, bool& d) -> task<> {
    file f = co_await file::open(p, open_mode::write);
    g.request_stop();
    co_await f.close();
    d = true;
  }(dir / "a", group, closed));
  co_await group.join();
  CHECK(closed);
}

}  // namespace file_test
