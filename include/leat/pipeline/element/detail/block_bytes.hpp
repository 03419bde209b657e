#pragma once

#include <concepts>
#include <cstddef>
#include <type_traits>

#include "leat/base/internal/range_concepts.hpp"
#include "leat/pipeline/metrics/stage_metrics.hpp"
#include "leat/tensor/tensor.hpp"
#include "leat/tensor/tensor_tuple.hpp"

namespace LEAT::detail {

template <class T>
concept has_byte_size = requires(const T& t) {
  { t.bytes() } -> std::convertible_to<std::size_t>;
};
template <class T>
concept is_tensors = std::same_as<T, tensor> || std::same_as<T, tensor_tuple>;
template <class T>
concept is_text = std::ranges::contiguous_range<const T> && std::ranges::sized_range<const T> &&
                  sizeof(std::ranges::range_value_t<const T>) == 1 &&
                  std::is_trivially_copyable_v<std::ranges::range_value_t<const T>>;

/// Elements whose size in bytes is known at once: records, lines, texts, rows, tensors, and types
/// with a member bytes(), which may throw.
template <class T>
concept measured = has_byte_size<T> || is_tensors<T> || is_text<T>;

template <measured T>
[[nodiscard]] std::size_t bytes_of(const T& element) {
  if constexpr (has_byte_size<T>) {
    return static_cast<std::size_t>(element.bytes());
  } else if constexpr (is_tensors<T>) {
    return element.byte_size();
  } else {
    return std::ranges::size(element);
  }
}

/// Returns the bytes of all elements of a block.
template <class Block>
  requires measured<typename Block::value_type>
[[nodiscard]] std::size_t block_bytes(const Block& block) {
  if constexpr (has_byte_size<Block>) {
    return block.bytes();
  } else {
    std::size_t sum = 0;
    for (auto&& element : block) sum += bytes_of(element);
    return sum;
  }
}

/// Counts an element that passes through a stage, and its bytes if they are known.
template <class T>
[[nodiscard]] T counted(stage_metrics& metrics, T element) {
  if constexpr (measured<T>) {
    metrics.add(1, bytes_of(element));
  } else {
    metrics.add(1);
  }
  return element;
}

/// Counts a block that passes through a stage, and its bytes if they are known.
template <class Block>
void count_block(stage_metrics& metrics, const Block& block) {
  if constexpr (measured<typename Block::value_type>) {
    metrics.add(block.size(), block_bytes(block));
  } else {
    metrics.add(block.size());
  }
}

}  // namespace LEAT::detail
