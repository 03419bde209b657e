#include <exception>
#include <filesystem>
#include <fstream>
#include <iterator>

#include <fcntl.h>

#include "leat/base/bytes.hpp"
#include "leat/coordination/coordinator.hpp"
#include "leat/io/file/file.hpp"
#include "support/leat_test.hpp"
#include "support/temp_dir.hpp"

namespace standard_descriptors_test {

using namespace std::string_view_literals;
using leat::file;
using leat::open_mode;

std::string content_of(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

// Prints a diagnostic of the library.
void print_message() {
  leat::coordinator k("k");
  k.add_secondary_error(std::make_exception_ptr(std::runtime_error("a message for people")));
}

task<> write_between_messages(std::string directory) {
  file a = co_await file::open(directory + "/a", open_mode::write);
  file b = co_await file::open(directory + "/b", open_mode::write);
  file c = co_await file::open(directory + "/c", open_mode::write);
  co_await c.write_at(0, leat::as_bytes("hello"sv));
  print_message();
  co_await c.write_at(5, leat::as_bytes("world"sv));
  co_await a.close();
  co_await b.close();
  co_await c.close();
}

// A daemon closes its standard descriptors and then opens its data.
TEST_CASE("file: when descriptors 0 to 2 are closed, no message is written into a file") {
  const temp_dir directory;
  const std::string path = directory.path();
  const std::string said = leat_test::run_in_child([&]() -> std::string {
    for (int i = 0; i <= STDERR_FILENO; ++i) ::close(i);
    leat::block_on(write_between_messages(path));
    for (int i = 0; i <= STDERR_FILENO; ++i) {
      if (::fcntl(i, F_GETFL) >= 0) return "taken: " + std::to_string(i);
    }
    return "done";
  });
  CHECK(said == "done");
  CHECK(content_of(path + "/a").empty());
  CHECK(content_of(path + "/b").empty());
  CHECK(content_of(path + "/c") == "helloworld");
}

TEST_CASE("file: when no descriptor above 2 is left, opening a file fails") {
  const temp_dir directory;
  const std::string path = directory.path() + "/a";
  const std::string said = leat_test::run_in_child([&]() -> std::string {
    std::string outcome;
    leat::block_on([](std::string name, std::string& out) -> task<> {
      file first = co_await file::open(name, open_mode::write);  // the backend is ready now
      const int null = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
      for (int i = 0; i <= STDERR_FILENO; ++i) ::close(i);
      while (::fcntl(null, F_DUPFD_CLOEXEC, STDERR_FILENO + 1) >= 0) {
      }
      try {
        static_cast<void>(co_await file::open(name, open_mode::read));
        out = "opened";
      } catch (const leat::failure& e) {
        out = e.code() == std::errc::too_many_files_open ? "too many files" : e.what();
      }
      co_await first.close();
    }(path, outcome));
    return outcome;
  });
  CHECK(said == "too many files");
}

TEST_CASE("dump_on_request: when descriptors 0 to 2 are closed, its file gets dumps only") {
  const temp_dir directory;
  const std::string path = directory.path() + "/dumps";
  const std::string said = leat_test::run_in_child([&]() -> std::string {
    for (int i = 0; i <= STDERR_FILENO; ++i) ::close(i);
    leat::dump_on_request dumps({.file = path});
    dumps.request();
    while (dumps.written() < 1) ::usleep(1000);
    return "done";
  });
  CHECK(said == "done");
  CHECK(content_of(path).starts_with("leat dump 1 of process"));
}

}  // namespace standard_descriptors_test
