// Limits of a ring: too many requests, too many rings, no ring available, a fork, and the end of a
// ring.

#include <cerrno>
#include <cstddef>
#include <fcntl.h>
#include <memory>
#include <optional>
#include <string>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>
#include <vector>

#include <asio/io_context.hpp>
#include <catch2/catch.hpp>

#include "leat/async/loop/asio_scheduler.hpp"
#include "leat/async/loop/block_on.hpp"
#include "leat/async/loop/runtime.hpp"
#include "leat/async/sleep.hpp"
#include "leat/async/task_group.hpp"
#include "leat/async/this_task.hpp"
#include "leat/base/internal/sanitizers.hpp"
#include "leat/io/backend/get_file_backend.hpp"
#include "leat/io/file/file.hpp"
#include "leat/io/reader/line_reader.hpp"
#include "support/child_process.hpp"
#include "support/descriptors.hpp"
#include "support/effort.hpp"
#include "support/records/page_cache.hpp"
#include "support/temp_dir.hpp"

namespace ring_test {

using namespace std::chrono_literals;
using leat::file;
using leat::file_request;
using leat::task;
using op = file_request::operation;

// Submits many requests at a time and waits for all of them.
class burst {
 public:
  explicit burst(leat::scheduler& sched) : scheduler_(sched) {}

  file_request& add() {
    requests_.push_back(std::make_unique<counted>());
    counted& r = *requests_.back();
    r.self = this;
    r.completion_scheduler = &scheduler_;
    r.run_ = [](leat::work_item& item) noexcept {
      auto& self = static_cast<counted&>(static_cast<file_request&>(item));
      --self.self->under_way_;
    };
    ++under_way_;
    return r;
  }

  task<> join() {
    while (under_way_ > 0) co_await leat::sleep_for(1ms);
  }

  // Returns the number of requests with this result.
  [[nodiscard]] std::size_t count(std::int64_t result) const {
    std::size_t n = 0;
    for (const auto& r : requests_) n += r->result == result ? 1U : 0U;
    return n;
  }

 private:
  struct counted : file_request {
    burst* self = nullptr;
  };

  leat::scheduler& scheduler_;
  std::vector<std::unique_ptr<counted>> requests_;
  std::size_t under_way_ = 0;
};

TEST_CASE("io_uring: handles more requests than the submission queue holds", "[uring]") {
  const temp_dir dir;
  std::string alphabets;
  for (int i = 0; i < 200; ++i) alphabets += "abcdefghijklmnopqrstuvwxyz";
  leat::block_on([](std::string path) -> task<> {
    constexpr std::size_t count = 5200;
    leat::scheduler& here = leat::this_task::get_scheduler();
    const file f = co_await file::open(path);
    std::vector<std::byte> bytes(count);
    burst all(here);
    for (std::size_t i = 0; i < count; ++i) {
      file_request& r = all.add();
      r.what = op::read;
      r.handle = f.open_handle()->number;
      r.data = &bytes[i];
      r.size = 1;
      r.offset = i;
      f.open_handle()->backend.submit(r);
    }
    co_await all.join();
    CHECK(all.count(1) == count);
    bool in_place = true;
    for (std::size_t i = 0; i < count; ++i) {
      in_place = in_place && bytes[i] == std::byte(static_cast<unsigned char>('a' + i % 26));
    }
    CHECK(in_place);
  }(dir.write("f", alphabets)));
}

TEST_CASE("io_uring: handles more completions than the completion queue holds", "[uring]") {
  const temp_dir dir;
  const std::string path = dir / "fifo";
  REQUIRE(::mkfifo(path.c_str(), 0600) == 0);
  const int both_ends = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
  REQUIRE(both_ends >= 0);
  leat::block_on([](std::string p, int pipe) -> task<> {
    constexpr std::size_t count = 4000;
    leat::scheduler& here = leat::this_task::get_scheduler();
    const file f = co_await file::open(p);
    std::vector<std::byte> bytes(count);
    burst all(here);
    for (std::byte& b : bytes) {
      file_request& r = all.add();
      r.what = op::read;
      r.handle = f.open_handle()->number;
      r.data = &b;
      r.size = 1;
      r.offset = leat::at_stream_position;
      f.open_handle()->backend.submit(r);
    }
    co_await leat::sleep_for(1ms);
    const std::string text(count, 'x');  // makes all requests ready at once
    REQUIRE(::write(pipe, text.data(), count) == static_cast<ssize_t>(count));
    co_await all.join();
    CHECK(all.count(1) == count);
    CHECK(bytes == std::vector<std::byte>(count, std::byte{'x'}));
  }(path, both_ends));
  ::close(both_ends);
}

TEST_CASE("io_uring: cancels requests on a thousand pipes at once", "[uring]") {
  const temp_dir dir;
  const std::string path = dir / "fifo";
  REQUIRE(::mkfifo(path.c_str(), 0600) == 0);
  leat::block_on([](std::string p) -> task<> {
    constexpr std::size_t count = 1000;
    leat::scheduler& here = leat::this_task::get_scheduler();
    const file f = co_await file::open(p);
    std::vector<std::byte> bytes(count);
    std::vector<file_request*> requests;
    burst all(here);
    for (std::byte& b : bytes) {
      file_request& r = all.add();
      r.what = op::read;
      r.handle = f.open_handle()->number;
      r.data = &b;
      r.size = 1;
      r.offset = leat::at_stream_position;
      f.open_handle()->backend.submit(r);
      requests.push_back(&r);
    }
    // Some requests are still queued, others are in the kernel.
    for (std::size_t i = 0; i < count / 2; ++i) f.open_handle()->backend.cancel(*requests[i]);
    co_await leat::sleep_for(1ms);
    for (std::size_t i = count / 2; i < count; ++i) {
      f.open_handle()->backend.cancel(*requests[i]);
    }
    co_await all.join();
    CHECK(all.count(-ECANCELED) == count);
  }(path));
}

task<std::size_t> count_lines(std::string path) {
  auto reader = co_await leat::line_reader::open(path);
  leat::line_batch batch;
  std::size_t count = 0;
  for (bool more = true; more;) {
    more = co_await reader->read_batch(batch);
    count += batch.size();
  }
  co_return count;
}

TEST_CASE("io_uring: a ring for each of many schedulers", "[uring]") {
  const temp_dir dir;
  const std::string path = dir.write("lines", std::string(1 << 20, '\n'));
  leat_test::evict(path);
  leat::runtime rt({.threads = 16});
  leat::task_group group;
  std::vector<std::size_t> counts(2 * rt.size());
  for (std::size_t i = 0; i < counts.size(); ++i) {
    group.spawn_on(rt.get_scheduler(i % rt.size()), [](std::string p, std::size_t& n) -> task<> {
      n = co_await count_lines(std::move(p));
    }(path, counts[i]));
  }
  leat::block_on(group.join());
  CHECK(counts == std::vector<std::size_t>(counts.size(), 1 << 20));
}

TEST_CASE("io_uring: a scheduler ends while reads of a destroyed reader are in flight", "[uring]") {
  const temp_dir dir;
  const std::string path = dir.write("lines", std::string(4 << 20, '\n'));
  const std::size_t before = leat_test::open_descriptors();
  for (int round = 0; round < 10; ++round) {
    leat_test::evict(path);
    asio::io_context io;
    leat::task_group group;
    group.spawn_on(leat::get_scheduler(io), [](std::string p) -> task<> {
      auto reader = co_await leat::line_reader::open(p, {.read = {.depth = 16}});
      leat::line_batch batch;
      co_await reader->read_batch(batch);
    }(path));
    while (group.live_tasks() > 0) io.run_one();
  }
  CHECK(leat_test::open_descriptors() == before);
}

// ------------------------------------------------------------------------------------------- none

task<std::string> backend_here() {
  const leat::file_backend& files = leat::get_file_backend(leat::this_task::get_scheduler());
  co_return std::string(files.name()) + "; " + leat::file_backend_reason();
}

// Returns the backend that a child process uses if only `left` descriptors are available.
std::string backend_with_descriptors(int left) {
  return leat_test::run_in_child([left] {
    ::unsetenv("LEAT_IO");
    asio::io_context io;
    leat::scheduler& here = leat::get_scheduler(io);
    std::vector<int> taken;
    const rlimit few{64, 64};
    ::setrlimit(RLIMIT_NOFILE, &few);
    for (int d = ::dup(0); d >= 0; d = ::dup(0)) taken.push_back(d);
    for (int i = 0; i < left; ++i) {
      ::close(taken.back());
      taken.pop_back();
    }
    std::string said;
    leat::task_group group;
    group.spawn_on(here, [](std::string& text) -> task<> { text = co_await backend_here(); }(said));
    io.run();
    return said;
  });
}

TEST_CASE("io_uring: uses threads and reports the reason without descriptors for a ring",
          "[uring]") {
  // The sanitizer for undefined behaviour checks memory through a pipe of its own.
  if (LEAT_ASAN) return;
  const std::string threads = "threads; threads: io_uring is refused: Too many open files";
  CHECK(backend_with_descriptors(0).starts_with(threads));
  CHECK(backend_with_descriptors(1).starts_with(threads));  // lacks one for the wake-up
  CHECK(backend_with_descriptors(2).starts_with("io_uring"));
}

TEST_CASE("io_uring: uses threads and reports the reason without lockable memory", "[uring]") {
  const std::string said = leat_test::run_in_child([] {
    ::unsetenv("LEAT_IO");
    const rlimit none{0, 0};
    ::setrlimit(RLIMIT_MEMLOCK, &none);
    // Root may lock memory without a limit.
    if (::geteuid() == 0 && ::setuid(65534) != 0) return std::string("still root");
    return leat::block_on(backend_here());
  });
  // Some kernels do not count a ring's memory.
  const bool told =
      said.starts_with("threads; threads: io_uring is refused: Cannot allocate memory");
  CHECK((told || said.starts_with("io_uring")));
}

// ------------------------------------------------------------------------------------------- fork

TEST_CASE("io_uring: a child of fork has its own files and does not affect its parent", "[uring]") {
  const temp_dir dir;
  const std::string path = dir.write("lines", std::string(1 << 20, '\n'));
  leat::runtime rt;
  leat::task_group group;
  group.spawn_on(rt.get_scheduler(), [](std::string p) -> task<> {
    for (int round = 0; round < (leat_test::slow_build ? 15 : 50); ++round) {
      leat_test::evict(p);
      const std::size_t count = co_await count_lines(p);
      CHECK(count == 1 << 20);
    }
  }(path));
  for (int i = 0; i < 5; ++i) {
    const std::string said =
        leat_test::run_in_child([&] { return std::to_string(leat::block_on(count_lines(path))); });
    CHECK(said == std::to_string(1 << 20));
  }
  leat::block_on(group.join());
}

}  // namespace ring_test
