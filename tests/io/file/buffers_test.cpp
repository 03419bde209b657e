// The address sanitizer knows which memory a buffer owns.

#include "leat/base/internal/sanitizers.hpp"

#if LEAT_ASAN

#include <array>
#include <chrono>
#include <string>
#include <sys/stat.h>

#include <catch2/catch.hpp>
#include <sanitizer/asan_interface.h>

#include "leat/async/loop/block_on.hpp"
#include "leat/async/sleep.hpp"
#include "leat/async/task_group.hpp"
#include "leat/io/file/file.hpp"
#include "leat/io/stream/detail/chunk.hpp"
#include "support/temp_dir.hpp"

namespace buffers_test {

using leat::task;

bool is_poisoned(const void* from, std::size_t size) {
  return __asan_region_is_poisoned(const_cast<void*>(from), size) == from;
}

bool is_free_of_poison(const void* from, std::size_t size) {
  return __asan_region_is_poisoned(const_cast<void*>(from), size) == nullptr;
}

// A read into bytes [first, first + size) of 200 is under way. Exactly [from, to) must be poisoned.
void read_under_way(std::size_t first, std::size_t size, std::size_t from, std::size_t to) {
  const temp_dir dir;
  const std::string path = dir / "fifo";
  REQUIRE(::mkfifo(path.c_str(), 0600) == 0);
  const auto reads = [=](std::string p) -> task<> {
    alignas(64) std::array<std::byte, 200> buffer{};
    leat::task_group group;
    group.spawn([](std::string name, std::span<std::byte> into) -> task<> {
      leat::file f = co_await leat::file::open(name);
      co_await f.read_at(leat::at_stream_position, into);
    }(p, std::span(buffer).subspan(first, size)));
    while (!is_poisoned(buffer.data() + from, to - from)) {
      co_await leat::sleep_for(std::chrono::milliseconds(1));
    }
    CHECK(is_free_of_poison(buffer.data(), from));
    CHECK(is_free_of_poison(buffer.data() + to, buffer.size() - to));
    group.request_stop();
    co_await group.join();
    CHECK(is_free_of_poison(buffer.data(), buffer.size()));
  };
  leat::block_on(reads(path));
}

TEST_CASE("file: the sanitizer reports access to the buffer of a read in flight") {
  read_under_way(0, 160, 0, 160);
}

TEST_CASE("file: two buffers may share a word of the sanitizer") { read_under_way(3, 100, 8, 96); }

TEST_CASE("chunk: the sanitizer reports access to a returned chunk") {
  leat::detail::chunk_pool* const pool = leat::detail::chunk_pool::make(2, 4096, 8192);
  const std::byte* body = nullptr;
  {
    const leat::detail::chunk_reference c = pool->take();
    body = c->body();
    CHECK(is_free_of_poison(body - 4096, 4096 + 8192));
  }
  CHECK(is_poisoned(body - 4096, 4096 + 8192));
  {
    const leat::detail::chunk_reference again = pool->take();
    CHECK(again->body() == body);
    CHECK(is_free_of_poison(body - 4096, 4096 + 8192));
  }
  pool->close();
}

}  // namespace buffers_test

#endif
