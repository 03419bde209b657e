#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <type_traits>
#include <utility>

#include "leat/io/reader/record_batch.hpp"
#include "leat/pipeline/element/detail/memory_use.hpp"
#include "leat/pipeline/element/detail/row_memory.hpp"
#include "leat/pipeline/element/owned_batch.hpp"

namespace LEAT::detail {

/// Prefetches the cache line at an address, which may be invalid. The empty statement is not for
/// the processor: g++ treats a function that only prefetches as a function without effect, and
/// removes its calls.
inline void prefetch_line(const void* address) noexcept {
  __builtin_prefetch(address);
  asm volatile("");
}

/// Prefetches an object itself: the first lines of a large one.
template <class T>
void prefetch_object(const T& object) noexcept {
  constexpr std::size_t line = 64;
  constexpr std::size_t size = std::min(sizeof(T), 16 * line);
  const auto* const bytes = reinterpret_cast<const std::byte*>(&object);
  for (std::size_t at = 0; at < size; at += line) prefetch_line(bytes + at);
  prefetch_line(bytes + size - 1);  // it may not begin at the start of a line
}

/// Prefetches the memory to which an object refers. Its layout is unknown here, but one of its
/// words is the address; the prefetches for the other words have no effect.
template <class T>
void prefetch_target(const T& object) noexcept {
  constexpr std::size_t count = std::min<std::size_t>(sizeof(T) / sizeof(std::uintptr_t), 16);
  if constexpr (!std::is_trivially_copyable_v<T> && count > 0) {
    std::uintptr_t words[count];
    std::memcpy(words, &object, sizeof words);
    for (const std::uintptr_t word : words) prefetch_line(reinterpret_cast<const void*>(word));
  }
}

/// One slot of a shuffle buffer that holds elements.
template <class Element>
struct element_slot {
  void put(Element&& e) { element = std::move(e); }
  Element&& take() noexcept { return std::move(element); }
  void prefetch() const noexcept { prefetch_target(element); }
  [[nodiscard]] std::size_t memory() const { return indirect_memory(element); }
  Element element{};
};

/// A slot that holds the bytes of a row.
template <class View>
struct row_slot {
  void put(View v, const record_position& from, row_memory* memory = nullptr) {
    bytes.assign(reinterpret_cast<const char*>(v.data()), v.size(), memory);
    path = from.path.data();
    offset = from.offset;
    index = from.index;
  }
  [[nodiscard]] View take() const noexcept {
    return View(reinterpret_cast<typename View::const_pointer>(bytes.data()), bytes.size());
  }
  [[nodiscard]] record_position position() const noexcept {
    return {path ? std::string_view(path) : std::string_view(), offset, index};
  }
  [[nodiscard]] std::size_t memory() const noexcept { return bytes.capacity(); }
  // The processor prefetches the next lines when it sees these lines read.
  void prefetch() const noexcept {
    constexpr std::size_t line = 64;
    constexpr std::size_t lines = 8;
    const std::size_t size = std::min(bytes.size(), line * lines);
    for (std::size_t at = 0; at < size; at += line) prefetch_line(bytes.data() + at);
  }
  row_bytes bytes;
  const char* path = nullptr;  // of the row's file; row_positions keeps it
  std::uint64_t offset = 0;
  std::uint64_t index = 0;
};

/// The type of slot for an element of a block.
template <class Block>
struct slot_for {
  using type = element_slot<typename Block::value_type>;
};
template <class View>
struct slot_for<basic_owned_batch<View>> {
  using type = row_slot<View>;
};

}  // namespace LEAT::detail
