#include "base/internal/frame_slabs.hpp"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <set>
#include <string>
#include <sys/resource.h>
#include <thread>
#include <utility>
#include <vector>

#include <catch2/catch.hpp>

#include "leat/base/internal/sanitizers.hpp"
#include "support/child_process.hpp"
#include "support/effort.hpp"

namespace frame_slabs_test {

namespace frame_slabs = leat::detail::frame_slabs;
using leat::detail::allocate_frame;
using leat::detail::frame_cache;
using leat::detail::free_frame;
using block = frame_cache::free_block;

constexpr bool sanitized = LEAT_ASAN || LEAT_TSAN;
constexpr std::size_t slab_size = std::size_t{2} << 20;

std::vector<block*> take(std::size_t index, std::size_t count) {
  std::vector<block*> blocks;
  while (blocks.size() < count) {
    std::size_t taken = count - blocks.size();
    block* batch = frame_slabs::take_batch(index, taken);
    for (; batch; --taken) blocks.push_back(std::exchange(batch, batch->next));
    if (taken != 0) std::abort();
  }
  return blocks;
}

std::size_t return_blocks(const std::vector<block*>& blocks) {
  block* batch = nullptr;
  for (block* const b : blocks) b->next = std::exchange(batch, b);
  return frame_slabs::return_batch(batch);
}

TEST_CASE("frame_slabs: blocks are aligned, do not overlap and fill a slab") {
  for (const std::size_t index : {0u, 1u, 10u, 63u}) {
    const std::size_t stride = frame_cache::size_of(index) + 8;
    const std::size_t before = frame_slabs::count();
    std::vector<block*> blocks = take(index, slab_size / stride);
    for (block* const b : blocks) std::memset(static_cast<void*>(b), 0xab, stride - 8);
    std::sort(blocks.begin(), blocks.end());
    for (std::size_t i = 0; i + 1 < blocks.size(); ++i) {
      const auto at = reinterpret_cast<std::uintptr_t>(blocks[i]);
      REQUIRE(at % 16 == 0);
      REQUIRE(reinterpret_cast<std::uintptr_t>(blocks[i + 1]) - at >= stride);
    }
    CHECK(frame_slabs::count() <= before + 2);  // a slab also contains its header
    CHECK(return_blocks(blocks) == 0);
  }
}

TEST_CASE("frame_slabs: releases all slabs but one, which serves any class") {
  const std::size_t before = frame_slabs::count();
  const std::vector<block*> small = take(3, 6 * slab_size / 64);
  CHECK(frame_slabs::count() >= before + 4);
  CHECK(return_blocks(small) == 0);
  const std::size_t left = frame_slabs::count();
  CHECK(left <= before + 1);
  const std::vector<block*> large = take(60, 10);
  CHECK(frame_slabs::count() == left);
  CHECK(return_blocks(large) == 0);
  CHECK(frame_slabs::count() == left);
}

TEST_CASE("frame_slabs: uses free blocks of a slab before it adds another slab") {
  std::vector<block*> blocks = take(3, 3 * slab_size / 64);
  std::set<block*> free;
  std::vector<block*> back;
  for (std::size_t i = 0; i < blocks.size(); i += 2) {
    back.push_back(blocks[i]);
    free.insert(blocks[i]);
  }
  std::vector<block*> kept;
  for (std::size_t i = 1; i < blocks.size(); i += 2) kept.push_back(blocks[i]);
  const std::size_t slabs = frame_slabs::count();
  return_blocks(back);
  CHECK(frame_slabs::count() == slabs);  // each slab has a block in use
  for (block* const b : take(3, back.size())) {
    free.erase(b);
    kept.push_back(b);
  }
  CHECK(frame_slabs::count() == slabs);
  CHECK(free.size() <= slab_size / 64);  // the last slab had blocks that were never in use
  return_blocks(kept);
}

TEST_CASE("frame_slabs: a batch may contain blocks from operator new") {
  std::vector<block*> blocks = take(5, 10);
  for (int i = 0; i < 7; ++i) {
    blocks.insert(blocks.begin() + 2 * i, static_cast<block*>(::operator new(88)));
  }
  CHECK(return_blocks(blocks) == 7);  // the leak checker detects the others
}

TEST_CASE("frame_slabs: threads can allocate and free at the same time") {
  const auto work = [](unsigned seed) {
    std::minstd_rand random(seed);
    std::vector<std::pair<std::size_t, std::vector<block*>>> mine;
    for (int i = 0; i < 400; ++i) {
      if (mine.size() < 20) {
        const std::size_t index = random() % 4 * 20;
        mine.emplace_back(index, take(index, random() % 300 + 1));
        for (block* const b : mine.back().second) {
          b->next = nullptr;
          std::memset(static_cast<void*>(b), static_cast<int>(seed), frame_cache::size_of(index));
        }
      } else {
        std::swap(mine[random() % mine.size()], mine.back());
        const auto& [index, blocks] = mine.back();
        for (block* const b : blocks) {
          const auto* const bytes = reinterpret_cast<const unsigned char*>(b);
          for (std::size_t at = 0; at < frame_cache::size_of(index); ++at) {
            if (bytes[at] != seed) std::abort();
          }
        }
        return_blocks(blocks);
        mine.pop_back();
      }
    }
    for (const auto& [index, blocks] : mine) return_blocks(blocks);
  };
  const std::size_t before = frame_slabs::count();
  {
    std::vector<std::jthread> threads;
    for (unsigned seed = 1; seed <= 4; ++seed) threads.emplace_back(work, seed);
  }
  CHECK(frame_slabs::count() <= before + 1);
}

TEST_CASE("frame_slabs: a child of fork() can allocate while other threads of its parent do") {
  std::atomic<bool> over{false};
  std::jthread busy([&] {
    while (!over) return_blocks(take(5, 3));
  });
  for (std::uint64_t i = 0; i < leat_test::scaled_count(100); ++i) {
    const std::string said = leat_test::run_in_child([] {
      return_blocks(take(5, 3));
      return std::string("ends");
    });
    if (said != "ends") FAIL(said);
  }
  over = true;
}

// The tests below use the lists of threads, which no sanitizer build uses.

std::vector<void*> allocate_frames(std::size_t count, std::size_t size) {
  std::vector<void*> frames;
  for (std::size_t i = 0; i < count; ++i) frames.push_back(allocate_frame(size));
  return frames;
}
void free_frames(const std::vector<void*>& frames, std::size_t size) {
  for (void* const frame : frames) free_frame(frame, size);
}

TEST_CASE("frame_slabs: many frames are in slabs, and none leaks") {
  if (sanitized) return;
  const std::size_t before = frame_slabs::count();
  std::jthread([&] {
    const std::vector<void*> frames = allocate_frames(100'000, 100);
    for (void* const frame : frames) std::memset(frame, 0x55, 100);
    CHECK(std::set<void*>(frames.begin(), frames.end()).size() == frames.size());
    CHECK(frame_slabs::count() >= before + 3);
    free_frames(frames, 100);
    CHECK(leat::detail::live_frames() == 0);
    CHECK(frame_slabs::count() <= before + 4);  // the thread keeps 4 MiB
  }).join();
  CHECK(frame_slabs::count() <= before + 1);
}

TEST_CASE("frame_slabs: few frames need no slab") {
  if (sanitized) return;
  std::jthread([] {
    const std::size_t before = frame_slabs::count();
    for (int round = 0; round < 10; ++round) free_frames(allocate_frames(9'000, 100), 100);
    CHECK(frame_slabs::count() == before);
  }).join();
}

TEST_CASE("frame_slabs: a thread can free blocks of another thread") {
  if (sanitized) return;
  const std::size_t before = frame_slabs::count();
  std::vector<void*> frames;
  std::jthread([&] {
    for (std::size_t i = 0; i < 200'000; ++i) frames.push_back(allocate_frame(i % 2 ? 300 : 60));
  }).join();
  std::jthread([&] {
    for (std::size_t i = 0; i < frames.size(); ++i) free_frame(frames[i], i % 2 ? 300 : 60);
  }).join();
  CHECK(frame_slabs::count() <= before + 1);
}

TEST_CASE("frame_slabs: freed small frames make space for large ones") {
  if (sanitized) return;
  const std::size_t before = frame_slabs::count();
  std::jthread([] {
    const std::vector<void*> small = allocate_frames(200'000, 20);
    const std::vector<void*> large = allocate_frames(5'000, 1000);
    free_frames(small, 20);
    free_frames(large, 1000);
    void* const again = allocate_frame(1000);
    CHECK(again == large.back());
    free_frame(again, 1000);
  }).join();
  CHECK(frame_slabs::count() <= before + 1);
}

TEST_CASE("frame_slabs: throws bad_alloc without memory and loses nothing") {
  if (sanitized) return;
  const std::size_t before = frame_slabs::count();
  std::jthread([] {
    std::vector<void*> frames;
    frames.reserve(1'000'000);
    rlimit whole{};
    REQUIRE(::getrlimit(RLIMIT_AS, &whole) == 0);
    const rlimit none{1, whole.rlim_max};
    for (std::size_t i = 0; i < 20'000; ++i) frames.push_back(allocate_frame(100));
    REQUIRE(::setrlimit(RLIMIT_AS, &none) == 0);
    bool refused = false;
    try {
      while (frames.size() < frames.capacity()) frames.push_back(allocate_frame(100));
    } catch (const std::bad_alloc&) {
      refused = true;
    }
    REQUIRE(::setrlimit(RLIMIT_AS, &whole) == 0);
    CHECK(refused);
    frames.push_back(allocate_frame(100));
    free_frames(frames, 100);
  }).join();
  CHECK(frame_slabs::count() <= before + 1);
}

}  // namespace frame_slabs_test
