#pragma once

#include <concepts>
#include <cstddef>
#include <exception>
#include <functional>
#include <iterator>
#include <memory>
#include <optional>
#include <source_location>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "leat/async/detail/joint_scope.hpp"
#include "leat/async/task.hpp"
#include "leat/base/error.hpp"
#include "leat/base/internal/frame_allocator.hpp"
#include "leat/base/internal/is_task.hpp"
#include "leat/base/internal/local_types.hpp"
#include "leat/base/internal/range_concepts.hpp"

LEAT_LOCAL_TYPES_BEGIN

namespace LEAT {
namespace detail {

/// Throws invalid_argument if `limit` is 0.
void check_concurrency(std::string_view function, std::size_t limit);
[[noreturn, gnu::cold]] void throw_stopped_early(std::size_t started);

/// The result of F for an element of Range: a task. It is void if F does not accept the element.
template <class Range, class F, class Element = std::ranges::range_reference_t<Range&>>
struct element_call {
  using type = void;
};
template <class Range, class F, class Element>
  requires std::invocable<F&, Element>
struct element_call<Range, F, Element> {
  using type = std::invoke_result_t<F&, Element>;
};
template <class Range, class F>
using element_task = typename element_call<Range, F>::type;

/// An element that its range returns by value. It lives until its task has ended.
template <class Element>
struct kept_element {
  Element value;

  static void* operator new(std::size_t size) { return allocate_frame(size); }
  static void operator delete(void* p, std::size_t size) noexcept { free_frame(p, size); }
};

template <class R, class Element>
task<R> run_with_element(task<R> t, std::unique_ptr<kept_element<Element>>) {
  co_return co_await untraced<R>{std::move(t)};
}

/// The elements that are left, and the function for them.
template <class Range, class F>
class element_queue {
 public:
  element_queue(Range& range, F& f)
      : next_(std::ranges::begin(range)), end_(std::ranges::end(range)), function_(f) {}

  [[nodiscard]] bool empty() const { return next_ == end_; }
  [[nodiscard]] std::size_t taken() const noexcept { return taken_; }
  /// Returns the task of the next element.
  [[nodiscard]] auto pop() {
    auto t = call();
    ++next_;
    ++taken_;
    return t;
  }

 private:
  auto call() {
    using element = std::ranges::range_reference_t<Range>;
    if constexpr (std::is_reference_v<element>) {
      return std::invoke(function_, *next_);
    } else {
      std::unique_ptr<kept_element<element>> kept(new kept_element<element>{*next_});
      auto t = std::invoke(function_, std::move(kept->value));
      return run_with_element(std::move(t), std::move(kept));
    }
  }

  std::ranges::iterator_t<Range> next_;
  std::ranges::sentinel_t<Range> end_;
  F& function_;
  std::size_t taken_ = 0;
};

/// Runs one task after the other until the elements end or a stop is requested.
template <class Queue>
task<void> run_elements(task<void> first, Queue& elements, const task_scope& scope) {
  co_await untraced<void>{std::move(first)};
  while (!scope.stop_requested() && !elements.empty()) {
    task<void> next = elements.pop();
    co_await untraced<void>{std::move(next)};
  }
}

template <class Range, class F>
task<void> for_each_element(Range range, std::size_t limit, F f, std::string_view function) {
  check_concurrency(function, limit);
  const std::source_location where = co_await awaited_at();
  element_queue<std::remove_reference_t<Range>, F> elements(range, f);
  joint_scope scope(function);
  try {
    for (std::size_t i = 0; i < limit && !elements.empty() && !scope.stop_requested(); ++i) {
      scope.start(run_elements(elements.pop(), elements, scope), where);
    }
  } catch (...) {
    scope.fail(std::current_exception());
  }
  co_await scope.join(where);
  scope.rethrow_any();
  if (!elements.empty()) throw_stopped_early(elements.taken());
}

template <class R>
task<void> store_element(task<R> t, std::vector<std::optional<R>>& results, std::size_t index) {
  R result = co_await untraced<R>{std::move(t)};
  results[index].emplace(std::move(result));
}

template <class R, class Range, class F>
task<std::vector<R>> map_elements(Range range, std::size_t limit, F f) {
  std::vector<std::optional<R>> results;
  if constexpr (std::ranges::sized_range<Range>) results.reserve(std::ranges::size(range));
  // Not a coroutine: a lambda that is one must outlive it.
  using element_type = std::ranges::range_reference_t<std::remove_reference_t<Range>&>;
  const auto store = [&](element_type&& element) {
    const std::size_t index = results.size();
    results.emplace_back();
    return store_element<R>(std::invoke(f, std::forward<element_type>(element)), results, index);
  };
  using function = std::remove_const_t<decltype(store)>;
  task<void> all = for_each_element<std::remove_reference_t<Range>&, function>(range, limit, store,
                                                                               "map_concurrent");
  co_await untraced<void>{std::move(all)};
  std::vector<R> values;
  values.reserve(results.size());
  for (std::optional<R>& r : results) values.push_back(std::move(*r));
  co_return values;
}

}  // namespace detail

/// Calls `f` for each element of a range, and runs the tasks that `f` returns, at most `limit` of
/// them at the same time.
///
///     co_await leat::for_each_concurrent(urls, 50, [&](const std::string& url) {
///       return fetch(url, cache);
///     });
///
/// It calls `f` in the order of the elements: for the first `limit` elements at once, and for the
/// next one when a task has finished. The first error stops all tasks, and `f` is not called again.
/// for_each_concurrent() returns or throws after all tasks have finished, so the tasks may refer to
/// local variables of the caller.
///
/// The tasks run on the scheduler of the calling task. To use several threads, spawn one
/// for_each_concurrent() on each, over a part of the range.
///
/// Range: an input range. An lvalue is not copied and must outlive the call; an rvalue is moved
///        into the task. `f` receives `*iterator`, and the iterator advances after the call. If
///        this is a reference to an object that does not outlive the advance, let `f` accept the
///        element by value. An element that the range returns by value, like those of
///        std::views::iota, is kept until its task has ended.
/// F:     a callable that returns task<void>. for_each_concurrent() keeps it until the end, so a
///        lambda may capture, even if it is itself a coroutine.
///
/// Errors:       the first error of a task, of `f`, or of the range; invalid_argument if `limit` is
///               0. `cancelled` if a stop was requested before all elements had been processed.
///               The effects of the tasks that have run are kept.
/// Cancellation: a stop request to the calling task stops the tasks.
/// Cost:         its own frame, one frame for each of up to `limit` concurrent tasks, and the frame
///               of each task that `f` returns.
template <std::ranges::input_range Range, class F>
[[nodiscard]] task<void> for_each_concurrent(Range&& range, std::size_t limit, F f) {
  static_assert(
      std::invocable<F&, std::ranges::range_reference_t<Range&>>,
      "for_each_concurrent() needs a function that accepts an element of the range: "
      "check the type of its parameter, such as const, and that it copies no element that "
      "can only be moved");
  static_assert(std::is_same_v<detail::element_task<Range, F>, task<void>>,
                "for_each_concurrent() needs a function that returns a task<void>: write "
                "[&](auto& element) -> leat::task<> { ...; co_return; }, or use map_concurrent() "
                "for results");
  return detail::for_each_element<Range, F>(std::forward<Range>(range), limit, std::move(f),
                                            "for_each_concurrent");
}

/// Like for_each_concurrent(), but returns the results of the tasks, in the order of the elements.
///
///     std::vector<page> pages = co_await leat::map_concurrent(urls, 50, fetch);
///
/// F:      a callable that returns a task with a result.
/// Result: a std::vector with one result for each element.
/// Errors: like for_each_concurrent(). The results of the other elements are then lost: to keep
///         them, let `f` store its result or return a settled<T>.
/// Cost:   also one frame for each element, and the memory for all results.
template <std::ranges::input_range Range, class F>
[[nodiscard]] auto map_concurrent(Range&& range, std::size_t limit, F f) {
  using element_task = detail::element_task<Range, F>;
  static_assert(std::invocable<F&, std::ranges::range_reference_t<Range&>>,
                "map_concurrent() needs a function that accepts an element of the range: check the "
                "type of its parameter, such as const, and that it copies no element that can only "
                "be moved");
  static_assert(detail::is_task<element_task>,
                "map_concurrent() needs a function that returns a task");
  using result = typename element_task::value_type;
  static_assert(!std::is_void_v<result>,
                "map_concurrent() needs a task with a result: use for_each_concurrent()");
  static_assert(!std::is_reference_v<result>,
                "map_concurrent() needs a task without a reference result: return a pointer");
  return detail::map_elements<result, Range, F>(std::forward<Range>(range), limit, std::move(f));
}

}  // namespace LEAT

LEAT_LOCAL_TYPES_END
