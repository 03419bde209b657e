#pragma once

#include <typeinfo>

#include "leat/base/asio.hpp"

#include LEAT_ASIO(any_io_executor.hpp)

namespace LEAT::detail {

/// Returns the executor inside a type-erased one, or null if it has another type. Asio 1.22 returns
/// it as any requested type.
template <class Executor>
[[nodiscard]] const Executor* get_target_if(const asio::any_io_executor& executor) noexcept {
  return executor.target_type() == typeid(Executor) ? executor.target<Executor>() : nullptr;
}

}  // namespace LEAT::detail
