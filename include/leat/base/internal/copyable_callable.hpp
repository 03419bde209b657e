#pragma once

#include <concepts>
#include <functional>
#include <memory>
#include <type_traits>
#include <utility>

#include "leat/base/flavour.hpp"

namespace LEAT::detail {

/// Returns a callable that a std::function can hold: `f`, or, if `f` can only be moved, a callable
/// whose copies share it.
template <class F>
auto copyable_callable(F f) {
  if constexpr (std::copy_constructible<F>) {
    return f;
  } else {
    return [shared = std::make_shared<F>(std::move(f))]<class... Args>(
               Args&&... args) -> std::invoke_result_t<F&, Args...> {
      return std::invoke(*shared, std::forward<Args>(args)...);
    };
  }
}

}  // namespace LEAT::detail
