#pragma once

#include <type_traits>

#include "leat/base/asio.hpp"

#include LEAT_ASIO(execution/executor.hpp)
#include LEAT_ASIO(execution/outstanding_work.hpp)
#include LEAT_ASIO(executor_work_guard.hpp)
#include LEAT_ASIO(prefer.hpp)

namespace LEAT::detail {

/// Keeps the context of an executor busy, as Asio's own operations do.
///
/// An asio::executor_work_guard does not compile with some executors that Asio's operations accept,
/// such as a strand of an any_io_executor in Asio 1.22.
template <class Executor>
class tracked_work {
 public:
  /// Errors: std::bad_alloc for some type-erased executors.
  explicit tracked_work(const Executor& e)
      : executor_(e), work_(asio::prefer(e, asio::execution::outstanding_work.tracked)) {}

  [[nodiscard]] Executor get_executor() const noexcept { return executor_; }

 private:
  using work_type = std::decay_t<typename asio::prefer_result<
      const Executor&, asio::execution::outstanding_work_t::tracked_t>::type>;

  Executor executor_;
  work_type work_;
};

/// An executor of the Networking TS has no properties.
template <class Executor>
using work_guard = std::conditional_t<asio::execution::is_executor<Executor>::value,
                                      tracked_work<Executor>, asio::executor_work_guard<Executor>>;

}  // namespace LEAT::detail
