#pragma once

#include <memory>

#include "async/loop/handler_memory.hpp"
#include "leat/async/loop/internal/event_loop_scheduler.hpp"
#include "leat/base/asio.hpp"

#include LEAT_ASIO(io_context.hpp)
#include LEAT_ASIO(posix/stream_descriptor.hpp)

namespace LEAT::detail {

/// An eventfd in an io_context. Its single wait uses preallocated memory.
class asio_event_listener final : public event_listener {
 public:
  /// Errors: system errors; std::bad_alloc.
  asio_event_listener(asio::io_context& io, scheduler& sched);

  [[nodiscard]] int descriptor() const noexcept override { return number_; }
  void listen(work_item& item) noexcept override;

 private:
  using memory = handler_memory<1>;
  struct handler;

  scheduler& scheduler_;
  asio::posix::stream_descriptor event_;
  int number_ = -1;
  // The context may destroy the handler after this.
  std::shared_ptr<memory> memory_ = std::make_shared<memory>();
};

}  // namespace LEAT::detail
