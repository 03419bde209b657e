#pragma once

#include <concepts>
#include <cstddef>
#include <functional>
#include <initializer_list>
#include <memory>
#include <new>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "leat/base/internal/is_task.hpp"

namespace LEAT {

namespace detail {

template <class T>
struct element_of_list {};
template <class T>
  requires std::constructible_from<T, std::initializer_list<typename T::value_type>> &&
           (!std::convertible_to<const char*, T>)
struct element_of_list<T> {
  using type = typename T::value_type;
};

// U is an element of T, which is a list of them.
template <class U, class T>
concept element_for = requires {
  typename element_of_list<T>::type;
} && std::convertible_to<U, typename element_of_list<T>::type> && !std::convertible_to<U, T>;

template <std::size_t, class E>
using repeated = E;

// A list of structs: a constructor for each number of elements, since an element that is in braces
// itself has no type that a template could deduce.
template <class E, class Indices>
struct list_of_structs : std::vector<E> {};
template <class E, std::size_t... I>
  requires(sizeof...(I) > 0)
struct list_of_structs<E, std::index_sequence<I...>>
    : list_of_structs<E, std::make_index_sequence<sizeof...(I) - 1>> {
  using fewer = list_of_structs<E, std::make_index_sequence<sizeof...(I) - 1>>;
  using fewer::fewer;
  list_of_structs() noexcept = default;
  list_of_structs(repeated<I, E>... elements) {
    this->reserve(sizeof...(I));
    (this->push_back(std::move(elements)), ...);
  }
};

template <class T>
struct braced_base : T {};

template <class E>
  requires std::is_aggregate_v<E>
struct braced_base<std::vector<E>> : list_of_structs<E, std::make_index_sequence<16>> {
  using list_of_structs<E, std::make_index_sequence<16>>::list_of_structs;
};

// std::function wraps what can be called, rather than copy it, and would wrap an empty braced
// function. It asks whether an object that is not const can be called, which is why none can.
template <class R, class... Args>
struct braced_base<std::function<R(Args...)>> : std::function<R(Args...)> {
  using std::function<R(Args...)>::operator();
  /// Deleted: call a const object, as in std::as_const(options).on_warning(sentence).
  template <class... Any>
  void operator()(Any&&...) = delete;
};

// Checks what becomes a T, or a part of it.
template <class T, class From>
struct braced_source {
  static constexpr bool is_checked = true;
};
template <class... Args, class From>
struct braced_source<std::function<void(Args...)>, From> {
  static_assert(!returns_awaitable<From&, Args...>,
                "callback in the options returns a coroutine, which would never run: write a plain "
                "function, which may spawn() the coroutine in a task_group");
  static constexpr bool is_checked = true;
};

}  // namespace detail

/// A member of an options struct that can be written in braces inside a `co_await` expression. T is
/// its type, such as a string, a list or a function.
///
///     co_await leat::saver::open(directory, what, {.basename = "best", .left_out = {"input"}});
///
/// g++ 12 miscompiles aggregates in such an expression (GCC bug 101976, fixed in 13). It constructs
/// each member outside the aggregate, copies its bytes into the aggregate without calling a
/// constructor, and destroys both, the copy first. A braced<T> stores its own address and so
/// recognises that it is such a copy. The copy owns nothing and destroys nothing. Copying or moving
/// from it uses the constructed object, which still exists. clang makes no such copies, but
/// uses the same type: a library and a program from different compilers must agree on the layout of
/// options.
///
/// The frame of a coroutine that accepts options by value contains real objects. A function that is
/// not a coroutine must move such options to a variable before it uses them.
///
/// Lists are written as for T: `{"a", "b"}`. A list of structs can have at most 16 elements in
/// braces; pass a longer list as a variable. A list has no constructor for a std::initializer_list,
/// because g++ 12.2 rejects one inside `co_await` ("array used as initializer", GCC bug 103871).
///
/// A function can only be called through a const object. A function type that returns void does not
/// accept a coroutine, because the coroutine would never be awaited. g++ 12 destroys a lambda twice
/// if it captures a value and is written inside `co_await`: store it in a variable first.
///
/// Thread safety: the thread safety of T.
template <class T>
class braced : public detail::braced_base<T> {
  using base = detail::braced_base<T>;
  static_assert(std::is_nothrow_default_constructible_v<T>,
                "braced<T> needs a T with a noexcept default constructor");

 public:
  using base::base;
  braced() noexcept = default;

  template <class U>
    requires(!std::same_as<std::remove_cvref_t<U>, braced> && std::convertible_to<U, T>)
  braced(U&& value) : base() {
    static_assert(detail::braced_source<T, std::decay_t<U>>::is_checked);
    T::operator=(T(std::forward<U>(value)));
  }

  template <class... U>
    requires(sizeof...(U) > 0 && (!std::same_as<std::remove_cvref_t<U>, braced> && ...) &&
             (detail::element_for<U, T> && ...))
  braced(U&&... elements) : base() {
    using element = typename detail::element_of_list<T>::type;
    T::operator=(
        T(std::initializer_list<element>{static_cast<element>(std::forward<U>(elements))...}));
  }

  braced(const braced& other) : base() { T::operator=(other.original()); }
  braced(braced&& other) noexcept : base() { T::operator=(std::move(other.original())); }

  braced& operator=(const braced& other) { return assign(other.original()); }
  braced& operator=(braced&& other) noexcept { return assign(std::move(other.original())); }
  template <class U>
    requires(!std::same_as<std::remove_cvref_t<U>, braced> && std::assignable_from<T&, U>)
  braced& operator=(U&& value) {
    static_assert(detail::braced_source<T, std::decay_t<U>>::is_checked);
    return assign(std::forward<U>(value));
  }

  ~braced() { become_real(); }

 private:
  // A copy of bytes becomes an empty object: what follows must not see what another one owns.
  void become_real() noexcept {
    if (original_ == this) return;
    std::construct_at(static_cast<T*>(this));
    original_ = this;
  }
  template <class U>
  braced& assign(U&& value) {
    become_real();
    T::operator=(std::forward<U>(value));
    return *this;
  }

  const T& original() const noexcept { return *original_; }
  T& original() noexcept { return *original_; }

  braced* original_ = this;
};

/// A text in an option struct: a braced std::string, which is used and written like one.
using option_string = braced<std::string>;
/// A list of T: a braced std::vector.
template <class T>
using option_list = braced<std::vector<T>>;
/// A function, which can be empty: a braced std::function.
template <class Signature>
using option_function = braced<std::function<Signature>>;

}  // namespace LEAT
