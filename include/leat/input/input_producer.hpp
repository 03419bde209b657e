#pragma once

#include <concepts>
#include <cstddef>
#include <functional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "leat/async/task.hpp"
#include "leat/input/basic_producer.hpp"

namespace LEAT {

/// A callable that finds a list of items: it returns a task<std::vector<T>>.
template <class F, class T>
concept item_finder =
    std::copy_constructible<F> && std::invocable<F&> &&
    std::same_as<std::remove_cvref_t<std::invoke_result_t<F&>>, task<std::vector<T>>>;

/// A producer that adds the items of a list to a queue, epoch by epoch; see basic_producer.
///
///     leat::string_input_producer names({"a.txt", "b.txt"}, {.num_epochs = 2, .seed = 17});
///     names.start(coord);
///     while (auto name = co_await names.queue().pop()) ...
///
/// For the rows of arrays see tensor_input_producer and slice_input_producer.
///
/// TensorFlow: tf.train.input_producer.
template <class T>
  requires std::copy_constructible<T>
class input_producer final : public basic_producer<T> {
 public:
  /// Errors: invalid_argument if there are no items, and as basic_producer: num_epochs below 1, a
  ///         capacity of 0, an unbounded queue without num_epochs, a shared queue that differs.
  explicit input_producer(std::vector<T> items, const producer_options& options = {})
      : basic_producer<T>(options), items_(std::move(items)) {
    this->require_items(items_.size(), "list of items");
    this->run([this] { return epoch(); });
  }

  /// Produces the items that `find`, such as a match_filenames_once, returns when the first epoch
  /// begins.
  ///
  /// Errors: as basic_producer. If `find` throws, the producer fails with that error. If it returns
  ///         no items, the producer fails with invalid_argument.
  template <class Find>
    requires(!std::same_as<Find, input_producer> && item_finder<Find, T>)
  explicit input_producer(Find find, const producer_options& options = {})
      : basic_producer<T>(options), find_(std::move(find)) {
    this->run([this] { return epoch(); });
  }

  /// Returns the number of items in the list, or 0 until the list is found.
  [[nodiscard]] std::size_t items() const noexcept { return items_.size(); }

 private:
  task<bool> epoch() {
    if (items_.empty()) {
      items_ = co_await find_();
      this->require_items(items_.size(), "list of found items");
    }
    const auto item = [this](std::size_t i) { return items_[i]; };
    co_return co_await this->run_epoch(items_.size(), items_.size(), item);
  }

  std::vector<T> items_;
  std::function<task<std::vector<T>>()> find_;
};

/// A producer of strings, such as filenames. TensorFlow: tf.train.string_input_producer.
using string_input_producer = input_producer<std::string>;

}  // namespace LEAT
