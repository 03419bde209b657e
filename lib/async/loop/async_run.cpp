#include "leat/async/loop/async_run.hpp"

#include <type_traits>
#include <utility>

#include <asio/execution/outstanding_work.hpp>
#include <asio/io_context.hpp>
#include <asio/require.hpp>
#include <asio/strand.hpp>

#include "async/loop/executor_target.hpp"
#include "leat/base/detail/assert.hpp"

namespace leat::detail {

asio::io_context& get_context(const asio::any_io_executor& executor) {
  using plain = asio::io_context::executor_type;
  // Such as the executor of a work guard, which has another type.
  using tracked = std::decay_t<decltype(asio::require(std::declval<const plain&>(),
                                                      asio::execution::outstanding_work.tracked))>;
  if (const auto* e = get_target_if<plain>(executor)) return e->context();
  if (const auto* e = get_target_if<tracked>(executor)) return e->context();
  if (const auto* e = get_target_if<asio::strand<plain>>(executor)) {
    return e->get_inner_executor().context();
  }
  if (const auto* e = get_target_if<asio::strand<tracked>>(executor)) {
    return e->get_inner_executor().context();
  }
  const auto* e = get_target_if<asio::strand<asio::any_io_executor>>(executor);
  LEAT_ASSERT(e != nullptr, "executor does not belong to an asio::io_context: pass one that does");
  return get_context(e->get_inner_executor());
}

}  // namespace leat::detail
