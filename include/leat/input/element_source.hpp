#pragma once

#include <concepts>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>

#include "leat/async/scheduler/scheduler.hpp"
#include "leat/async/task.hpp"
#include "leat/base/braced.hpp"
#include "leat/tensor/shape.hpp"
#include "leat/tensor/tensor.hpp"
#include "leat/tensor/tensor_tuple.hpp"

namespace LEAT {

/// An element or a batch of elements, and whether to keep it; the result of a source that filters.
///
///     co_return leat::filtered_element{std::move(line), is_wanted};
///
/// TensorFlow: keep_input of tf.train.maybe_batch.
struct filtered_element {
  /// The element, or a batch of elements as rows.
  tensor_tuple element;
  /// One value for all of it or, for a batch, a boolean tensor with one value for each row.
  std::variant<bool, tensor> keep = true;
};

/// Options of a source.
struct source_options {
  /// The number of tasks that call the source repeatedly, all on one scheduler. TensorFlow:
  /// num_threads.
  std::size_t tasks = 1;
  /// If true, each call returns a batch of 0, 1 or more elements, which are added one by one.
  bool enqueue_many = false;
  /// If true, the elements of several tasks are added in the order of the calls, regardless of how
  /// long each call takes.
  bool ordered = false;
  /// The shape of filtered_element::keep: [] is one value for everything that a call returns, [?]
  /// or [n] one value for each row.
  braced<partial_shape> keep = {};
  option_string name = {};  ///< in messages and dumps; default: "source" and its number
  scheduler* on = nullptr;  ///< of the tasks; if null, the one that start() uses
};

namespace detail {

/// Rejects options that make no sense. `filters`: the source returns a filtered_element.
/// Errors: invalid_argument; the message begins with `owner`.
void check_source(const source_options& how, bool filters, std::string_view owner);

/// Which part of an element or a batch to keep.
struct keep_mask {
  bool any = true;
  std::optional<std::span<const bool>> each = {};  // of the rows; none: all alike
};

/// Returns the mask of `got`, which must outlive it. Errors: as check_source().
keep_mask to_keep_mask(const filtered_element& got, const source_options& how,
                       std::string_view owner);

template <class Awaitable>
struct awaited : std::type_identity<decltype(std::declval<Awaitable&>().await_resume())> {};
template <class T>
struct awaited<task<T>> : std::type_identity<T> {};

}  // namespace detail

/// The type of the result of awaiting a call of a source.
template <class Source>
using source_result = typename detail::awaited<std::invoke_result_t<Source&>>::type;

/// A source of elements: a callable that returns a task or another awaitable. Its result is an
/// element or a batch, either of them possibly as a filtered_element, or empty at the end.
///
///     task<std::optional<tensor_tuple>> next();
///     task<std::optional<filtered_element>> next();
///     [&] { return queue.pop(); }  // of a queue of tensor_tuple
template <class Source>
concept element_source = std::move_constructible<Source> && std::invocable<Source&> &&
                         (std::same_as<source_result<Source>, std::optional<tensor_tuple>> ||
                          std::same_as<source_result<Source>, std::optional<filtered_element>>);

}  // namespace LEAT
