#include "leat/base/internal/frame_allocator.hpp"

#include <cstring>
#include <set>
#include <thread>
#include <vector>

#include <catch2/catch.hpp>

#include "leat/base/internal/sanitizers.hpp"

namespace frame_allocator_test {

using leat::detail::allocate_frame;
using leat::detail::free_frame;

constexpr bool recycles = !LEAT_ASAN && !LEAT_TSAN;

TEST_CASE("frame_allocator: reuses a freed block") {
  if (!recycles) return;
  void* const first = allocate_frame(200);
  free_frame(first, 200);
  void* const second = allocate_frame(193);  // the same size class
  CHECK(second == first);
  free_frame(second, 193);
}

TEST_CASE("frame_allocator: classes are no coarser than those of malloc") {
  using leat::detail::frame_cache;
  for (std::size_t size = 1; size <= 1016; ++size) {
    const std::size_t index = frame_cache::class_of(size);
    const std::size_t rounded = frame_cache::size_of(index);
    REQUIRE(index < frame_cache::classes);
    REQUIRE(rounded >= size);
    REQUIRE(rounded - size < 16);
    REQUIRE((rounded + 8) % 16 == 0);  // with malloc's header of a block
  }
  CHECK(frame_cache::class_of(1017) == frame_cache::classes);
}

TEST_CASE("frame_allocator: blocks that live at the same time do not overlap") {
  std::vector<std::pair<unsigned char*, std::size_t>> blocks;
  for (std::size_t size = 1; size < 3000; size += 37) {
    auto* const block = static_cast<unsigned char*>(allocate_frame(size));
    std::memset(block, static_cast<int>(size % 251), size);
    blocks.emplace_back(block, size);
  }
  bool intact = true;
  for (const auto& [block, size] : blocks) {
    for (std::size_t i = 0; i < size; ++i) intact = intact && block[i] == size % 251;
  }
  CHECK(intact);
  for (const auto& [block, size] : blocks) free_frame(block, size);
}

TEST_CASE("frame_allocator: blocks are aligned for everything") {
  for (const std::size_t size : {1u, 8u, 64u, 65u, 500u, 1024u, 1025u, 5000u}) {
    void* const block = allocate_frame(size);
    CHECK(reinterpret_cast<std::uintptr_t>(block) % __STDCPP_DEFAULT_NEW_ALIGNMENT__ == 0);
    free_frame(block, size);
  }
}

TEST_CASE("frame_allocator: a block may be freed on another thread") {
  std::vector<void*> blocks;
  for (int i = 0; i < 100; ++i) blocks.push_back(allocate_frame(128));
  std::thread([&] {
    for (void* block : blocks) free_frame(block, 128);
    void* const again = allocate_frame(128);
    if (recycles) CHECK(again == blocks.back());
    free_frame(again, 128);
  }).join();
}

TEST_CASE("frame_allocator: memory freed at the end of a thread does not leak") {
  // Destroyed after the thread-local objects that were made later.
  struct late {
    void* block = nullptr;
    ~late() { free_frame(block, 100); }
  };
  std::thread([] {
    static thread_local late first;
    first.block = allocate_frame(100);
    free_frame(allocate_frame(200), 200);  // makes the thread's lists after `first`
  }).join();                               // the leak checker detects a leak
}

TEST_CASE("frame_allocator: frees all blocks beyond those that it keeps") {
  std::vector<void*> blocks;
  for (int i = 0; i < 10'000; ++i) blocks.push_back(allocate_frame(1000));
  CHECK(std::set<void*>(blocks.begin(), blocks.end()).size() == blocks.size());
  for (void* block : blocks) free_frame(block, 1000);
}

}  // namespace frame_allocator_test
