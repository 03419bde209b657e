#include "leat/async/loop/scheduler_executor.hpp"

#include <asio/io_context.hpp>
#include <asio/system_executor.hpp>

#include "leat/async/loop/asio_scheduler.hpp"

namespace leat {

asio::execution_context& scheduler_executor::query(asio::execution::context_t) const noexcept {
  if (asio::io_context* const io = get_io_context(*scheduler_)) return *io;
  return asio::system_executor().context();
}

}  // namespace leat
