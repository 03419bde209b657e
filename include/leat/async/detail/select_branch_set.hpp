#pragma once

#include <array>
#include <cstddef>
#include <ostream>
#include <tuple>
#include <type_traits>
#include <utility>

#include "leat/async/detail/select_state.hpp"

namespace LEAT::detail {

template <class Operation, class... Ends>
class limited_awaiter;

template <class... T>
struct type_list {
  static constexpr std::size_t size = sizeof...(T);
};
template <class... Lists>
struct joined_lists;
template <class... T>
struct joined_lists<type_list<T...>> {
  using type = type_list<T...>;
};
template <class... T, class... U, class... Lists>
struct joined_lists<type_list<T...>, type_list<U...>, Lists...>
    : joined_lists<type_list<T..., U...>, Lists...> {};

/// The branches of one argument of a select: one for the operation, and one for each limit around
/// it. `operation_at` is the index of the operation in `branches`.
template <class Argument>
struct select_argument {
  using operation = Argument;
  using branches = type_list<Argument>;
  static constexpr std::size_t operation_at = 0;
};
/// The limits of an operation that may be completed in part begin first, so that it has no effect
/// if one of them cannot begin.
template <class Operation, class... Ends>
struct select_argument<limited_awaiter<Operation, Ends...>> {
  using operation = Operation;
  static constexpr bool is_last = partially_completable<Operation>;
  using branches =
      std::conditional_t<is_last, type_list<Ends..., Operation>, type_list<Operation, Ends...>>;
  static constexpr std::size_t operation_at = is_last ? sizeof...(Ends) : 0;
};

template <class Argument>
using operation_of = typename select_argument<Argument>::operation;

/// Where a branch belongs.
struct branch_place {
  std::size_t argument;   ///< the argument of the select
  std::size_t operation;  ///< the branch of the operation of this argument
};

template <class... Arguments>
consteval auto branch_places() {
  std::array<branch_place, (select_argument<Arguments>::branches::size + ...)> all{};
  std::size_t next = 0;
  std::size_t argument = 0;
  const auto add = [&](std::size_t count, std::size_t operation_at) {
    const branch_place place{argument++, next + operation_at};
    for (const std::size_t end = next + count; next < end; ++next) all[next] = place;
  };
  (add(select_argument<Arguments>::branches::size, select_argument<Arguments>::operation_at), ...);
  return all;
}

template <std::size_t I, class Operation>
struct indexed_branch : select_branch<Operation> {
  template <class From>
  indexed_branch(From&& from, select_state& s)
      : select_branch<Operation>(std::move(from), s, static_cast<int>(I)) {}
};

/// The branches of a select, in the order of its arguments, with the numbers I...
template <class Indices, class Operations, class... Arguments>
struct indexed_branch_set;
template <std::size_t... I, class... Operations, class... Arguments>
struct indexed_branch_set<std::index_sequence<I...>, type_list<Operations...>, Arguments...>
    : indexed_branch<I, Operations>... {
  static constexpr std::array places = branch_places<Arguments...>();
  template <std::size_t J>
  using operation = std::tuple_element_t<J, std::tuple<Operations...>>;
  template <std::size_t J>
  static constexpr bool is_operation = places[J].operation == J;

  /// True for an operation without limits.
  template <std::size_t J>
  static constexpr bool is_unlimited = ((I == J || places[I].operation != J) && ...);

  /// The branch of the irrevocable operation, or the number of branches if there is none.
  static constexpr std::size_t irrevocable_at = [] {
    constexpr std::array<bool, sizeof...(Operations)> is_irrevocable{irrevocable<Operations>...};
    std::size_t index = 0;
    while (index < is_irrevocable.size() && !is_irrevocable[index]) ++index;
    return index;
  }();

  /// Each element of `from` refers to an operation, or to a branch of it that has not begun.
  template <class... From>
  indexed_branch_set(select_state& s, std::tuple<From&&...> from)
      : indexed_branch<I, Operations>(std::get<I>(std::move(from)), s)... {}

  /// The branches as the source of others.
  [[nodiscard]] auto release() noexcept {
    return std::tuple<indexed_branch<I, Operations>&&...>(
        static_cast<indexed_branch<I, Operations>&&>(*this)...);
  }

  template <std::size_t J>
  [[nodiscard]] auto& get() noexcept {
    return static_cast<indexed_branch<J, operation<J>>&>(*this);
  }
  template <std::size_t J>
  [[nodiscard]] const auto& get() const noexcept {
    return static_cast<const indexed_branch<J, operation<J>>&>(*this);
  }

  /// Calls f with each branch and its number until f returns true.
  template <class F>
  bool any(F&& f) {
    return (f(get<I>(), std::integral_constant<std::size_t, I>()) || ...);
  }

  /// Describes the operations and their limits.
  void describe(std::ostream& out, int winner) const { (describe_in_list<I>(out, winner), ...); }

  /// Describes operation J and its limits.
  template <std::size_t J>
  void describe_operation(std::ostream& out, int winner, const char* completed) const {
    get<J>().describe(out);
    if (winner == static_cast<int>(J)) out << completed;
    (describe_limit<I, J>(out, winner), ...);
  }

 private:
  template <std::size_t J, std::size_t Operation>
  void describe_limit(std::ostream& out, int winner) const {
    if constexpr (J != Operation && places[J].operation == Operation) {
      if (winner == select_state::nobody || winner == static_cast<int>(J)) {
        get<J>().describe_limit(out, winner != select_state::nobody);
      }
    }
  }

  // Timers have no names, so the description of the first one gives the number of all: "2 timers".
  template <std::size_t J>
  void describe_in_list(std::ostream& out, int winner) const {
    if constexpr (is_operation<J>) {
      constexpr int count = (static_cast<int>(is_same_unlimited<I, J>) + ...);
      constexpr bool is_first = ((I >= J || !is_same_unlimited<I, J>) && ...);
      const char* const separator = places[J].argument == 0 ? "" : ", or ";
      if constexpr (plural_name<operation<J>> == nullptr || count <= 1) {
        out << separator;
        describe_operation<J>(out, winner, " (completed)");
      } else if constexpr (is_first) {
        out << separator << count << plural_name<operation<J>>;
      }
    }
  }
  template <std::size_t A, std::size_t B>
  static constexpr bool is_same_unlimited = is_operation<A> && is_unlimited<A> && is_unlimited<B> &&
                                            std::is_same_v<operation<A>, operation<B>>;
};

template <class... Arguments>
using joined_branches =
    typename joined_lists<typename select_argument<Arguments>::branches...>::type;

template <class... Arguments>
using select_branch_set =
    indexed_branch_set<std::make_index_sequence<joined_branches<Arguments...>::size>,
                       joined_branches<Arguments...>, Arguments...>;

}  // namespace LEAT::detail
