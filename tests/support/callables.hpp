#pragma once

#include <functional>
#include <utility>

namespace leat_test {

/// A function object that calls the function F.
template <auto F>
struct function_object {
  template <class... Args>
  decltype(auto) operator()(Args&&... args) const
    requires requires { F(std::forward<Args>(args)...); }
  {
    return F(std::forward<Args>(args)...);
  }
};

/// Like function_object, but can only be moved.
template <auto F>
struct movable_function_object : function_object<F> {
  movable_function_object() = default;
  movable_function_object(movable_function_object&&) noexcept = default;
  movable_function_object& operator=(movable_function_object&&) noexcept = default;
};

/// Like function_object, but a const object of this type cannot be called.
template <auto F>
struct mutable_function_object {
  template <class... Args>
  decltype(auto) operator()(Args&&... args)
    requires requires { F(std::forward<Args>(args)...); }
  {
    return F(std::forward<Args>(args)...);
  }
};

/// The number of calls of `use` in with_each_const_callable().
constexpr int const_callable_kinds = 7;
/// The number of calls of `use` in with_each_callable().
constexpr int callable_kinds = const_callable_kinds + 1;

/// Passes each kind of callable that calls the function F, and that can be called as a const
/// object, to `use`: the function itself, a pointer to it, function objects, and a reference to
/// one. They exist until `use` returns.
template <auto F, class Use>
void with_each_const_callable(Use use) {
  function_object<F> object;
  const function_object<F> constant;
  use(*F);
  use(F);
  use(object);
  use(constant);
  use(function_object<F>());
  use(std::ref(object));
  use(movable_function_object<F>());
}

/// Like with_each_const_callable(), but for all callables.
template <auto F, class Use>
void with_each_callable(Use use) {
  with_each_const_callable<F>(use);
  use(mutable_function_object<F>());
}

}  // namespace leat_test
