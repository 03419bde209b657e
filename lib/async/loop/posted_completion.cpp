#include "leat/async/loop/detail/posted_completion.hpp"

#include "async/loop/executor_target.hpp"
#include "leat/async/loop/scheduler_executor.hpp"
#include "leat/base/asio.hpp"

#include LEAT_ASIO(io_context.hpp)
#include LEAT_ASIO(post.hpp)
#include LEAT_ASIO(strand.hpp)
#include LEAT_ASIO(thread_pool.hpp)

namespace LEAT::detail {
namespace {

// Posts the completion to the executor if it has this type. Returns true if it has.
template <class Executor>
bool post_as(const asio::any_io_executor& executor, posted_completion& completion) {
  const Executor* const known = get_target_if<Executor>(executor);
  if (known) asio::post(*known, std::move(completion));
  return known != nullptr;
}

template <class... Executors>
bool post_as_any_of(const asio::any_io_executor& executor, posted_completion& completion) {
  return (post_as<Executors>(executor, completion) || ...);
}

}  // namespace

void posted_completion::post_to(const asio::any_io_executor& executor) && noexcept {
  using io = asio::io_context::executor_type;
  using pool = asio::thread_pool::executor_type;
  if (const auto* const known = get_target_if<scheduler_executor>(executor)) {
    known->post_completion(std::move(*this));
  } else if (!post_as_any_of<io, asio::strand<io>, pool, asio::strand<pool>>(executor, *this)) {
    asio::post(executor, std::move(*this));
  }
}

}  // namespace LEAT::detail
