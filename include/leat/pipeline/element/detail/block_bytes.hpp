#pragma once

#include <concepts>
#include <cstddef>
#include <ranges>
#include <type_traits>

#include "leat/pipeline/metrics/stage_metrics.hpp"
#include "leat/tensor/tensor.hpp"
#include "leat/tensor/tensor_tuple.hpp"

namespace leat::detail {

template <class T>
concept tells_bytes = requires(const T& t) {
  { t.bytes() } -> std::convertible_to<std::size_t>;
};
template <class T>
concept is_tensors = std::same_as<T, tensor> || std::same_as<T, tensor_tuple>;
template <class T>
concept is_text = std::ranges::contiguous_range<const T> && std::ranges::sized_range<const T> &&
                  sizeof(std::ranges::range_value_t<const T>) == 1 &&
                  std::is_trivially_copyable_v<std::ranges::range_value_t<const T>>;

/// Elements of which it is known at once how many bytes they have: records, lines, texts, rows,
/// tensors, and what has a bytes() of its own, which may throw.
template <class T>
concept measured = tells_bytes<T> || is_tensors<T> || is_text<T>;

template <measured T>
[[nodiscard]] std::size_t bytes_of(const T& element) {
  if constexpr (tells_bytes<T>) {
    return static_cast<std::size_t>(element.bytes());
  } else if constexpr (is_tensors<T>) {
    return element.byte_size();
  } else {
    return std::ranges::size(element);
  }
}

/// The bytes of all elements of a run.
template <class Run>
  requires measured<typename Run::value_type>
[[nodiscard]] std::size_t bytes_in(const Run& run) {
  if constexpr (tells_bytes<Run>) {
    return run.bytes();
  } else {
    std::size_t sum = 0;
    for (auto&& element : run) sum += bytes_of(element);
    return sum;
  }
}

/// An element that goes through a stage; counts it, and its bytes as far as they are known.
template <class T>
[[nodiscard]] T counted(stage_metrics& metrics, T element) {
  if constexpr (measured<T>) {
    metrics.add(1, bytes_of(element));
  } else {
    metrics.add(1);
  }
  return element;
}

/// Counts a run that goes through a stage, and its bytes as far as they are known.
template <class Run>
void count_run(stage_metrics& metrics, const Run& run) {
  if constexpr (measured<typename Run::value_type>) {
    metrics.add(run.size(), bytes_in(run));
  } else {
    metrics.add(run.size());
  }
}

}  // namespace leat::detail
