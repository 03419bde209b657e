#include "sim/network/simulated_stream.hpp"

#include <utility>

#include "leat/base/asio.hpp"
#include "leat/base/error.hpp"
#include "leat/sim/allocation_faults.hpp"
#include "sim/network/simulated_backend.hpp"

#include LEAT_ASIO(error.hpp)

namespace LEAT::sim {

simulated_stream::simulated_stream(stream_end& e) : end_(&e), peer_(e.peer()) {
  e.set_program(this);
}

simulated_stream::~simulated_stream() { close(false); }

void simulated_stream::attach(scheduler& on) {
  if (scheduler_ == &on) return;
  if (!end_) {
    throw failure(asio::error::make_error_code(asio::error::bad_descriptor),
                  "connection moved to another scheduler after close()");
  }
  const auto* const network = on.find_service<network_backend>();
  const auto* const simulated = dynamic_cast<const simulated_backend*>(network);
  if (!simulated || &simulated->host() != &end_->host()) {
    throw failure(
        errc::failed_precondition,
        "connection moved to a scheduler of another host: connections stay on their host");
  }
  scheduler_ = &on;
}

void simulated_stream::start(network_transfer& t) noexcept {
  const allocation_faults::without_faults own;
  if (end_) return end_->start(t);
  t.error = asio::error::bad_descriptor;
  t.bytes = 0;
  get_scheduler().post(t);
}

void simulated_stream::cancel(network_transfer& t) noexcept {
  const allocation_faults::without_faults own;
  if (end_) end_->cancel(t);
}

void simulated_stream::cancel_all() noexcept {
  const allocation_faults::without_faults own;
  if (end_) end_->cancel_all();
}

asio_error_code simulated_stream::shutdown_send() noexcept {
  const allocation_faults::without_faults own;
  return end_ ? end_->shutdown_send() : asio_error_code(asio::error::bad_descriptor);
}

void simulated_stream::close(bool resets) noexcept {
  if (!end_) return;
  const allocation_faults::without_faults own;
  std::exchange(end_, nullptr)->close(resets);
}

connection_status simulated_stream::status() const noexcept {
  return end_ ? end_->status() : connection_status();
}

asio_error_code simulated_stream::set_option(int level, int name, const void* value,
                                             std::size_t size) noexcept {
  const allocation_faults::without_faults own;
  return end_ ? end_->set_option(level, name, value, size)
              : asio_error_code(asio::error::bad_descriptor);
}

asio_error_code simulated_stream::get_option(int level, int name, void* value,
                                             std::size_t& size) const noexcept {
  return end_ ? end_->get_option(level, name, value, size)
              : asio_error_code(asio::error::bad_descriptor);
}

bool simulated_stream::try_transfer(network_transfer& t) noexcept {
  const allocation_faults::without_faults own;
  if (end_) return end_->try_transfer(t);
  t.error = asio::error::bad_descriptor;
  return true;
}

}  // namespace LEAT::sim
