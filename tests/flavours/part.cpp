// A part of a program, compiled for one flavour of leat; PART is the name of its function. The same
// source is compiled for both.

#include <chrono>
#include <string>

#include <leat/leat.hpp>
#include LEAT_ASIO(io_context.hpp)
#include LEAT_ASIO(local/connect_pair.hpp)
#include LEAT_ASIO(local/stream_protocol.hpp)
#include LEAT_ASIO(post.hpp)
#include LEAT_ASIO(read.hpp)
#include LEAT_ASIO(steady_timer.hpp)
#include LEAT_ASIO(write.hpp)

using namespace std::chrono_literals;

namespace {

namespace asio = leat::asio;

using socket_type = asio::local::stream_protocol::socket;

// Sends numbers through a queue and a socket. The other end then closes the socket.
leat::task<> send(leat::fifo_queue<char>& queue, socket_type socket) {
  while (const auto item = co_await queue.pop()) {
    co_await asio::async_write(socket, asio::buffer(&*item, 1), leat::use_task);
  }
}

leat::task<std::string> talk(asio::io_context& io) {
  socket_type near(io), far(io);
  asio::local::connect_pair(near, far);
  leat::fifo_queue<char> queue(2);
  leat::task_group group("senders");
  group.spawn(send(queue, std::move(far)));
  for (const char c : {'a', 'b', 'c'}) co_await queue.push(c);
  queue.close();
  std::string text;
  for (;;) {
    char c = 0;
    const auto read =
        co_await leat::as_tuple(asio::async_read(near, asio::buffer(&c, 1), leat::use_task));
    if (read.error == asio::error::eof) break;
    if (read.error) throw leat::failure(read.error, "read");
    text += c;
  }
  co_await group.join();
  asio::steady_timer timer(io, 1ms);
  co_await timer.async_wait(leat::use_task);
  co_return text;
}

// Asio knows in a handler of the context that it is there. That fails if the shared library and the
// program have a copy each of the state of Asio.
bool executes_in_place() {
  asio::io_context io;
  bool in_place = false;
  asio::post(io, [&] {
    bool called = false;
    leat::get_executor(leat::get_scheduler(io)).execute([&] { called = true; });
    in_place = called;
  });
  io.run();
  return in_place;
}

bool catches_errors_of_asio() {
  try {
    throw leat::asio_system_error(asio::error::operation_aborted);
  } catch (...) {
    return leat::to_error_code(std::current_exception()) == leat::errc::cancelled;
  }
}

}  // namespace

// Returns what went wrong, or an empty text.
std::string PART() {
  std::string text;
  asio::io_context io;
  leat::async_run(
      io, [&]() -> leat::task<> { text = co_await talk(io); },
      [](const std::exception_ptr& error) {
        if (error) std::rethrow_exception(error);
      });
  io.run();
  if (text != "abc") return "received '" + text + "'";
  if (!executes_in_place()) return "the state of Asio exists twice";
  if (!catches_errors_of_asio()) return "the error of Asio is not known";
  return {};
}

// A failure as the other part throws it.
void THROW(const char* message) { throw leat::failure(leat::errc::data_loss, message); }

// Catches what the other part throws, as a std::system_error of another category.
bool CATCH(void (*thrower)(const char*)) {
  try {
    thrower("damaged");
  } catch (const leat::failure&) {
    return false;
  } catch (const std::system_error& error) {
    return error.code() == leat::errc::data_loss &&
           leat::to_error_code(std::current_exception()) == leat::errc::data_loss;
  }
  return false;
}
