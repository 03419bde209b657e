#pragma once

#include <cstddef>
#include <exception>
#include <functional>
#include <new>
#include <optional>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "leat/base/internal/is_task.hpp"
#include "leat/base/internal/range_concepts.hpp"
#include "leat/pipeline/element/detail/row_positions.hpp"
#include "leat/pipeline/state/detail/origin.hpp"

namespace LEAT::detail {

/// The number of results of one element: one, none or one, or any number.
enum class arity { one, maybe, many };

template <class T>
struct mapped {
  using type = T;
  static constexpr arity how = arity::one;
};
template <class T>
struct mapped<std::optional<T>> {
  using type = T;
  static constexpr arity how = arity::maybe;
};

/// True for a type that must be awaited, and for an optional or a range of such values.
template <class T>
constexpr bool holds_awaitable = must_be_awaited<T>;
template <class T>
  requires(!must_be_awaited<T>) && requires { typename T::value_type; }
constexpr bool holds_awaitable<T> = must_be_awaited<typename T::value_type>;

/// Rejects a coroutine as the function of a stage.
template <class Function, class Element>
constexpr void require_function() {
  if constexpr (std::is_invocable_v<const Function&, Element>) {
    using result = std::remove_cvref_t<std::invoke_result_t<const Function&, Element>>;
    static_assert(!holds_awaitable<result>,
                  "map() and flat_map() require a plain function, but this one is a coroutine or "
                  "returns an operation: await it in for_each(), or push "
                  "its results to a queue in tasks that you spawn() and continue with "
                  "read_queue()");
  }
}

/// True for a range that a function returns by reference or as a view, and does not own.
template <class Range>
constexpr bool returns_reference =
    std::is_lvalue_reference_v<Range> || std::ranges::view<std::remove_cvref_t<Range>>;

/// How many elements were made of each element of a block; empty if not counted or always one.
using arity_counts = std::vector<std::size_t>;

/// Converts to the result of a function, so that a container constructs it in place.
template <class Function, class Element>
struct emplace_result {
  operator std::invoke_result_t<const Function&, Element>() && {
    return std::invoke(f, std::forward<Element>(element));
  }
  const Function& f;
  Element&& element;
};

/// Applies a function to one element and adds the results to `out`.
template <arity How, class Function, class Element, class Out>
void apply_to(const Function& f, Element&& element, std::vector<Out>& out) {
  if constexpr (How == arity::one) {
    // An aggregate has no constructor that could accept the conversion for something else.
    if constexpr (std::is_same_v<std::invoke_result_t<const Function&, Element>, Out> &&
                  std::is_aggregate_v<Out>) {
      out.emplace_back(emplace_result<Function, Element>{f, std::forward<Element>(element)});
    } else {
      out.push_back(std::invoke(f, std::forward<Element>(element)));
    }
  } else if constexpr (How == arity::maybe) {
    if (auto made = std::invoke(f, std::forward<Element>(element))) out.push_back(std::move(*made));
  } else {
    using range = std::invoke_result_t<const Function&, Element>;
    for (auto&& made : std::invoke(f, std::forward<Element>(element))) {
      if constexpr (returns_reference<range>) {
        out.push_back(made);
      } else {
        out.push_back(std::move(made));
      }
    }
  }
}

/// Applies a function to the elements from `at` to `end` of a block and returns its exception, if
/// any. Appends the elements made before that to `out`, and to `counts`, if any, their number for
/// each element of the block.
template <arity How, class Function, class In, class Out>
[[nodiscard]] std::exception_ptr apply(const Function& f, In& in, std::size_t at, std::size_t end,
                                       std::vector<Out>& out, arity_counts* counts) {
  std::size_t before = out.size();
  const auto count = [&] {
    if (counts) counts->push_back(out.size() - std::exchange(before, out.size()));
  };
  try {
    if (counts) counts->reserve(in.size());  // so that counting cannot fail
    if constexpr (How != arity::many) out.reserve(in.size());
    for (; at < end; ++at) {
      auto&& element = *(in.begin() + static_cast<std::ptrdiff_t>(at));
      apply_to<How>(f, std::move(element), out);
      if constexpr (How != arity::one) count();
    }
    return nullptr;
  } catch (...) {
    // The last element has failed. If its count could not be stored, it has no count.
    if (counts && counts->size() < counts->capacity()) count();
    return with_position(in, at);
  }
}

/// The function of a stage, called for parts of blocks: the rest of the stage depends only on the
/// types of its elements, and is compiled once for these.
template <class In, class Out>
class block_function {
 public:
  virtual ~block_function() = default;

  /// See apply().
  [[nodiscard]] virtual std::exception_ptr make(In& in, std::size_t at, std::size_t end,
                                                std::vector<Out>& out,
                                                arity_counts* counts) const = 0;
  /// Applies it to one element, adds to `out`, and returns its exception. Errors: std::bad_alloc.
  [[nodiscard]] virtual std::exception_ptr make_one(In& in, std::size_t i,
                                                    std::vector<Out>& out) const = 0;
};

template <arity How, class In, class Out, class Function>
class applied_function final : public block_function<In, Out> {
 public:
  explicit applied_function(Function f) : function_(std::move(f)) {}

  std::exception_ptr make(In& in, std::size_t at, std::size_t end, std::vector<Out>& out,
                          arity_counts* counts) const override {
    return apply<How>(function_, in, at, end, out, counts);
  }
  std::exception_ptr make_one(In& in, std::size_t i, std::vector<Out>& out) const override {
    try {
      auto&& element = *(in.begin() + static_cast<std::ptrdiff_t>(i));
      apply_to<How>(function_, std::move(element), out);
      return nullptr;
    } catch (const std::bad_alloc&) {
      throw;
    } catch (...) {
      return with_position(in, i);
    }
  }

 private:
  const Function function_;
};

/// Returns the origins of the results of a block.
template <arity How>
[[nodiscard]] std::vector<origin> origins_of_made(std::span<const origin> of,
                                                  const arity_counts& counts) {
  std::vector<origin> all;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    for (std::size_t k = 0; k < counts[i]; ++k) {
      all.push_back(How == arity::many ? of[i].child(k) : of[i]);
    }
  }
  return all;
}

}  // namespace LEAT::detail
