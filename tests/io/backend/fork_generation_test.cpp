// A child of fork() has the memory of its parent and none of its threads.

#include <cstdio>
#include <cstdlib>
#include <sys/wait.h>

#include "leat/io/backend/get_file_backend.hpp"
#include "leat/io/file/file.hpp"
#include "support/leat_test.hpp"
#include "support/temp_dir.hpp"

namespace fork_generation_test {

using leat::file_request;

// Needs the ring or a worker thread.
task<std::size_t> names_in(std::string directory) {
  const std::vector<std::string> names = co_await leat::list_directory(std::move(directory));
  co_return names.size();
}

TEST_CASE("file: a child of fork creates its own worker threads") {
  const temp_dir dir;
  dir.write("a", "");
  CHECK(leat::block_on(names_in(dir.path())) == 1);  // the parent has worker threads
  CHECK(leat_test::run_in_child(
            [&] { return std::to_string(leat::block_on(names_in(dir.path()))); }) == "1");
  CHECK(leat::block_on(names_in(dir.path())) == 1);
}

TEST_CASE("file: a child of fork ends although its parent has worker threads") {
  const temp_dir dir;
  CHECK(leat::block_on(names_in(dir.path())) == 0);
  std::fflush(nullptr);
  const pid_t child = ::fork();
  if (child == 0) {
    ::alarm(3600);
    ::close(STDOUT_FILENO);
    std::exit(3);  // static objects are destroyed
  }
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  CHECK(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 3);
}

TEST_CASE("file: to use the parent's files in a child of fork ends the child") {
  leat::block_on([]() -> task<> {
    leat::file_backend& files = leat::get_file_backend(leat::this_task::get_scheduler());
    file_request r;
    r.what = file_request::operation::sync;
    r.path = "/";
    const std::string said = leat_test::abort_message([&] { files.submit(r); });
    CHECK(contains(said, "file of the parent used in a child of fork()"));
    co_return;
  }());
}

}  // namespace fork_generation_test
