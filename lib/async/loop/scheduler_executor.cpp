#include "leat/async/loop/scheduler_executor.hpp"

#include "leat/async/loop/internal/asio_context.hpp"
#include "leat/base/asio.hpp"

#include LEAT_ASIO(io_context.hpp)
#include LEAT_ASIO(system_executor.hpp)

namespace LEAT {

asio::execution_context& scheduler_executor::query(asio::execution::context_t) const noexcept {
  if (asio::io_context* const io = detail::find_asio_context(*scheduler_)) return *io;
  return asio::system_executor().context();
}

}  // namespace LEAT
