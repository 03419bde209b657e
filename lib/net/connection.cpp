#include "leat/net/connection.hpp"

#include <array>

#include "leat/async/as_tuple.hpp"
#include "leat/async/select.hpp"
#include "leat/base/error.hpp"
#include "net/adoption.hpp"
#include "net/asio_stream.hpp"

namespace LEAT {

connection connection::adopt(int descriptor, scheduler* on) {
  detail::adoption adopted(descriptor, on, "connection");
  auto stream = std::make_unique<detail::asio_stream>();
  stream->adopt(adopted.socket());
  stream->attach(adopted.get_scheduler());
  return connection(std::move(stream));
}

void connection::check(asio_error_code ec, const char* what) {
  if (ec) throw failure(ec, std::string("connection: ") + what);
}

task<> close_gracefully(connection c, time_span limit) {
  if (!c.is_open()) co_return;
  static_cast<void>(c.shutdown_send());
  const scheduler& clock = c.get_scheduler();
  const time_point end = deadline_after(clock.now(), limit);
  std::array<char, 4096> discarded;
  while (clock.now() < end) {  // a peer may send for ever
    const auto read =
        co_await as_tuple(with_deadline(c.async_read_some_or_end(asio::buffer(discarded)), end));
    if (read.error || !read.value) co_return;
  }
}

}  // namespace LEAT
