#include "async/loop/asio_event_listener.hpp"

#include <cerrno>
#include <cstdint>
#include <sys/eventfd.h>
#include <system_error>
#include <unistd.h>

#include "leat/base/internal/descriptor.hpp"

namespace LEAT::detail {

struct asio_event_listener::handler {
  using allocator_type = handler_allocator<void, std::shared_ptr<memory>>;
  asio_event_listener* self;
  work_item* item;
  std::shared_ptr<memory> storage;

  void operator()(const asio_error_code& ec) const {
    if (ec) return;  // the context shuts down
    std::uint64_t count = 0;
    while (::read(self->number_, &count, sizeof count) < 0 && errno == EINTR) {
    }
    self->scheduler_.post(*item);
  }
  [[nodiscard]] allocator_type get_allocator() const noexcept { return allocator_type(storage); }
};

asio_event_listener::asio_event_listener(asio::io_context& io, scheduler& sched)
    : scheduler_(sched), event_(io) {
  detail::descriptor made(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK),
                          "asio_scheduler: cannot create an eventfd");
  event_.assign(made.get());
  number_ = made.release();
}

void asio_event_listener::listen(work_item& item) noexcept {
  event_.async_wait(asio::posix::stream_descriptor::wait_read, handler{this, &item, memory_});
}

}  // namespace LEAT::detail
