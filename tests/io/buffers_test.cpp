// The address sanitizer knows whose memory a buffer is.

#include "leat/core/detail/sanitizers.hpp"

#if LEAT_ASAN

#include <array>
#include <chrono>
#include <string>
#include <sys/stat.h>

#include <catch2/catch.hpp>
#include <sanitizer/asan_interface.h>

#include "leat/core/sleep.hpp"
#include "leat/core/sync_wait.hpp"
#include "leat/core/task_group.hpp"
#include "leat/io/detail/chunk.hpp"
#include "leat/io/file.hpp"
#include "support/temp_dir.hpp"

namespace buffers_test {

using leat::task;

bool is_poisoned(const void* from, std::size_t size) {
  return __asan_region_is_poisoned(const_cast<void*>(from), size) == from;
}

bool is_free_of_poison(const void* from, std::size_t size) {
  return __asan_region_is_poisoned(const_cast<void*>(from), size) == nullptr;
}

TEST_CASE("file: the buffer of a read under way is nobody's to touch", "[io]") {
  const temp_dir dir;
  const std::string path = dir / "fifo";
  REQUIRE(::mkfifo(path.c_str(), 0600) == 0);
  leat::sync_wait([](std::string p) -> task<> {
    alignas(64) std::array<std::byte, 200> buffer{};
    leat::task_group group;
    group.spawn([](std::string name, std::span<std::byte> to) -> task<> {
      leat::file f = co_await leat::file::open(name);
      co_await f.read_at(leat::next_byte, to);
    }(p, std::span(buffer).first(160)));
    while (!is_poisoned(buffer.data(), 160)) co_await leat::sleep_for(std::chrono::milliseconds(1));
    CHECK(is_free_of_poison(buffer.data() + 160, 40));
    group.request_stop();
    co_await group.join();
    CHECK(is_free_of_poison(buffer.data(), buffer.size()));
  }(path));
}

TEST_CASE("chunk: one that came back is nobody's to touch", "[io]") {
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
