#include "tls/tls_stream.hpp"

#include <utility>

#include "leat/base/asio.hpp"
#include "leat/tls/tls_session.hpp"

#include LEAT_ASIO(error.hpp)

namespace LEAT::detail {

tls_stream::tls_stream(connection below, std::unique_ptr<tls_engine> engine)
    : core_(std::make_shared<tls_core>(std::move(below), std::move(engine))) {
  scheduler_ = &core_->below().get_scheduler();
}

tls_stream::~tls_stream() { core_->close(false); }

void tls_stream::attach(scheduler& on) {
  core_->attach(on);
  scheduler_ = &on;
}

endpoint tls_stream::local() const { return is_open() ? core_->below().local() : endpoint(); }

asio_error_code tls_stream::set_option(int level, int name, const void* value,
                                       std::size_t size) noexcept {
  if (!is_open()) return asio::error::bad_descriptor;
  return core_->below().stream().set_option(level, name, value, size);
}

asio_error_code tls_stream::get_option(int level, int name, void* value,
                                       std::size_t& size) const noexcept {
  if (!is_open()) return asio::error::bad_descriptor;
  return core_->below().stream().get_option(level, name, value, size);
}

}  // namespace LEAT::detail

namespace LEAT {

std::optional<tls_session> get_tls_session(const connection& c) {
  if (!c.is_open() && !c.peer()) return std::nullopt;
  const auto* const stream = dynamic_cast<const detail::tls_stream*>(&c.stream());
  if (!stream) return std::nullopt;
  return stream->engine().session();
}

}  // namespace LEAT
