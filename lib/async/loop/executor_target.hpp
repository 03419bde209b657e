#pragma once

#include <typeinfo>

#include <asio/any_io_executor.hpp>

namespace leat::detail {

/// The executor in a type-erased one, if it is of this type. Asio 1.22 gives it as any type that it
/// is asked for.
template <class Executor>
[[nodiscard]] const Executor* get_target_if(const asio::any_io_executor& executor) noexcept {
  return executor.target_type() == typeid(Executor) ? executor.target<Executor>() : nullptr;
}

}  // namespace leat::detail
