#include "leat/core/async_run.hpp"

#include <asio/strand.hpp>

#include "leat/core/assert.hpp"

namespace leat::detail {

asio::io_context& io_context_of(const asio::any_io_executor& executor) {
  using plain = asio::io_context::executor_type;
  if (const auto* e = executor.target<plain>()) return e->context();
  if (const auto* e = executor.target<asio::strand<plain>>()) {
    return e->get_inner_executor().context();
  }
  const auto* e = executor.target<asio::strand<asio::any_io_executor>>();
  LEAT_ASSERT(e != nullptr, "tasks run in an asio::io_context: this executor belongs to none");
  return io_context_of(e->get_inner_executor());
}

}  // namespace leat::detail
