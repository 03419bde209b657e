#include "leat/async/loop/async_run.hpp"

#include <type_traits>
#include <utility>

#include "async/loop/executor_target.hpp"
#include "leat/base/asio.hpp"
#include "leat/base/internal/assert.hpp"

#include LEAT_ASIO(execution/outstanding_work.hpp)
#include LEAT_ASIO(io_context.hpp)
#include LEAT_ASIO(require.hpp)
#include LEAT_ASIO(strand.hpp)

namespace LEAT::detail {
namespace {

using plain_executor = asio::io_context::executor_type;
// Such as the executor of a work guard, which has another type.
using tracked_executor = std::decay_t<decltype(asio::require(
    std::declval<const plain_executor&>(), asio::execution::outstanding_work.tracked))>;

// Returns the scheduler of an executor of this type, or of a strand of one; null for another type.
template <class Executor>
scheduler* find_scheduler(const asio::any_io_executor& executor) {
  if (const auto* e = get_target_if<Executor>(executor)) return &get_scheduler_of(*e);
  if (const auto* e = get_target_if<asio::strand<Executor>>(executor)) return &get_scheduler_of(*e);
  return nullptr;
}

}  // namespace

scheduler& get_scheduler_of(const asio::any_io_executor& executor) noexcept {
  if (scheduler* const s = find_scheduler<plain_executor>(executor)) return *s;
  if (scheduler* const s = find_scheduler<tracked_executor>(executor)) return *s;
  if (scheduler* const s = find_scheduler<scheduler_executor>(executor)) return *s;
  const auto* const strand = get_target_if<asio::strand<asio::any_io_executor>>(executor);
  LEAT_ASSERT(strand != nullptr,
              "async_run() on an executor without a scheduler, such as one of a thread_pool: pass "
              "an executor of an asio::io_context, or leat::get_executor(scheduler)");
  return get_scheduler_of(strand->get_inner_executor());
}

}  // namespace LEAT::detail
