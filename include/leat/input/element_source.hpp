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

#include "leat/async/scheduler.hpp"
#include "leat/async/task.hpp"
#include "leat/base/braced.hpp"
#include "leat/tensor/shape.hpp"
#include "leat/tensor/tensor.hpp"
#include "leat/tensor/tensor_tuple.hpp"

namespace leat {

/// An element, or a batch of them, and whether it is wanted: a source that filters gives these.
///
///     co_return leat::filtered_element{std::move(line), is_wanted};
///
/// TensorFlow: keep_input of tf.train.maybe_batch.
struct filtered_element {
  tensor_tuple element;
  /// One for all of it, or, of a batch, a boolean tensor with one for each row.
  std::variant<bool, tensor> keep = true;
};

/// How a source is run.
struct source_options {
  /// Tasks that call it, each again and again, all on one scheduler. TensorFlow: num_threads.
  std::size_t tasks = 1;
  /// True: each call gives a batch, of 0, 1 or more elements, which enter one by one.
  bool enqueue_many = false;
  /// True: what several tasks get enters in the order of their calls, whatever each call takes.
  bool ordered = false;
  /// The shape of filtered_element::keep: [] is one value for everything that a call returns, [?]
  /// or [n] one value for each row.
  braced<partial_shape> keep = {};
  braced<std::string> name = {};  ///< for messages and dumps; empty: "source" and its number
  scheduler* on = nullptr;        ///< where its tasks run; null: where the batcher is started
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

/// What a call of a source gives, once it is awaited.
template <class Source>
using source_result = typename detail::awaited<std::invoke_result_t<Source&>>::type;

/// A source of elements: a callable that gives a task, or something else to be awaited, of an
/// element, of a batch of them, or of either with a wish; empty at the end.
///
///     task<std::optional<tensor_tuple>> next();
///     task<std::optional<filtered_element>> next();
///     [&] { return queue.pop(); }  // of a queue of tensor_tuple
template <class Source>
concept element_source = std::move_constructible<Source> && std::invocable<Source&> &&
                         (std::same_as<source_result<Source>, std::optional<tensor_tuple>> ||
                          std::same_as<source_result<Source>, std::optional<filtered_element>>);

}  // namespace leat
