#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

#include "leat/base/internal/pimpl.hpp"
#include "leat/queue/queue_options.hpp"

namespace LEAT::detail {

// The additional state of a queue with a weight function. Other queues have none of it.

/// An item in storage.
template <class T>
struct weighed {
  T value;
  std::size_t weight;
};

template <class T, class Weigh>
using stored_item = std::conditional_t<std::same_as<Weigh, unweighed>, T, weighed<T>>;

/// Compares items in storage by their values.
template <class T, class Less>
struct weighed_less {
  Less less;
  bool operator()(const weighed<T>& a, const weighed<T>& b) const { return less(a.value, b.value); }
};

template <class T, class Less, class Weigh>
using stored_less = std::conditional_t<std::same_as<Weigh, unweighed>, Less, weighed_less<T, Less>>;

/// The items of a push to a queue with weights; queue_waiter::items_ points to it.
class weighed_push {
 public:
  /// Weighs the items unless that has been done. After an exception they count as not weighed.
  template <class T, class WeighOne>
  void weigh(T* items, std::size_t count, WeighOne&& weigh_one) {
    if (weights_) return;
    pimpl<std::size_t[]> many(count > 1 ? new std::size_t[count] : nullptr);
    std::size_t* const weights = many ? many.get() : &one_;
    for (std::size_t i = 0; i < count; ++i) weights[i] = weigh_one(std::as_const(items[i]));
    many_ = std::move(many);
    weights_ = weights;
  }

  void* attach(void* values) noexcept {
    values_ = values;
    return this;
  }
  [[nodiscard]] void* values() const noexcept { return values_; }
  [[nodiscard]] std::size_t weight(std::size_t index) const noexcept { return weights_[index]; }

  std::uint64_t ticket_ = 0;  // order among all operations that wait for one budget

 private:
  void* values_ = nullptr;
  const std::size_t* weights_ = nullptr;  // null: not weighed yet
  std::size_t one_ = 0;
  pimpl<std::size_t[]> many_;
};

/// Like weighed_push, but for a queue without weights.
struct unweighed_push {
  static void* attach(void* values) noexcept { return values; }
};

/// The items of a batch with their weights, since it may have to return them.
template <class T>
struct weighed_batch : std::vector<T> {
  weighed_batch() = default;
  weighed_batch(std::vector<T>&& items) noexcept : std::vector<T>(std::move(items)) {}

  std::vector<std::size_t> weights;

  void reserve(std::size_t count) {
    std::vector<T>::reserve(count);
    weights.reserve(count);
  }
};

}  // namespace LEAT::detail
