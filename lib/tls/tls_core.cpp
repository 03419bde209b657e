#include "tls/tls_core.hpp"

#include <chrono>
#include <exception>
#include <utility>

#include "leat/async/as_tuple.hpp"
#include "leat/async/select.hpp"
#include "leat/base/asio.hpp"
#include "leat/base/error.hpp"

#include LEAT_ASIO(error.hpp)
#include LEAT_ASIO(ssl/error.hpp)
#include LEAT_ASIO(write.hpp)

namespace LEAT::detail {
namespace {

// After close(), as long as the last bytes may take.
constexpr auto linger_limit = std::chrono::seconds(30);
// Bytes that close() reads to find out whether the peer has sent data.
constexpr int most_reads_at_close = 16;

}  // namespace

/// The completion handler of a step. Destroyed without a call if the scheduler ends.
class tls_core::handler {
 public:
  using cancellation_slot_type = asio::cancellation_slot;

  handler(std::shared_ptr<tls_core> core, step s) noexcept : core_(std::move(core)), step_(s) {}
  handler(handler&&) noexcept = default;
  handler& operator=(handler&&) = delete;
  ~handler() {
    if (core_) core_->abandon(step_);
  }

  void operator()(const asio_error_code& ec, std::size_t bytes = 0) {
    const std::shared_ptr<tls_core> core = std::move(core_);
    core->ended(step_, ec, bytes);
  }
  [[nodiscard]] cancellation_slot_type get_cancellation_slot() const noexcept {
    if (!core_ || step_ == step::write) return {};
    return step_ == step::read ? core_->read_signal_.slot() : core_->wait_signal_.slot();
  }

 private:
  std::shared_ptr<tls_core> core_;
  step step_;
};

tls_core::tls_core(connection below, std::unique_ptr<tls_engine> engine)
    : below_(std::move(below)), engine_(std::move(engine)) {}

void tls_core::attach(scheduler& on) {
  if (running_ != std::array<bool, 3>{}) {
    throw failure(
        errc::failed_precondition,
        "connection moved to another scheduler while it still sends a record, the write of "
        "which was ended by a limit");
  }
  below_.attach(on);
}

// -------------------------------------------------------------------------------------- transfers

void tls_core::post(network_transfer& t, const asio_error_code& ec, std::size_t bytes) noexcept {
  t.error = ec;
  t.bytes = bytes;
  t.pending = false;
  below_.get_scheduler().post(t);
}

void tls_core::finish(kind k, const asio_error_code& ec, std::size_t bytes) noexcept {
  is_cancelled(k) = false;
  post(*std::exchange(slot_of(k), nullptr), ec, bytes);
}

void tls_core::finish_if_cancelled(kind k) noexcept {
  if (slot_of(k) && is_cancelled(k)) finish(k, asio::error::operation_aborted, 0);
}

void tls_core::start(network_transfer& t) noexcept {
  if (closed_) return post(t, asio::error::bad_descriptor, 0);
  if (slot_of(t.what)) return post(t, asio::error::already_started, 0);
  slot_of(t.what) = &t;
  serve();
}

void tls_core::cancel(network_transfer& t) noexcept {
  if (slot_of(t.what) != &t) return;
  switch (t.what) {
    case kind::read:
    case kind::wait_readable:
      is_cancelled(t.what) = true;
      // What has already arrived still counts.
      if (is_running(step::read)) return read_signal_.emit(asio::cancellation_type::terminal);
      break;
    case kind::write:
      if (encrypted_ > 0) return finish(t.what, {}, std::exchange(encrypted_, 0));
      break;
    case kind::wait_writable:
      is_cancelled(t.what) = true;
      if (is_running(step::wait)) return wait_signal_.emit(asio::cancellation_type::terminal);
      break;
  }
  finish(t.what, asio::error::operation_aborted, 0);
}

void tls_core::cancel_all() noexcept {
  for (network_transfer* const t : pending_) {
    if (t) cancel(*t);
  }
}

bool tls_core::try_transfer(network_transfer& t) noexcept {
  t.bytes = 0;
  t.error = {};
  if (closed_) {
    t.error = asio::error::bad_descriptor;
    return true;
  }
  if (t.what == kind::write) {
    if (is_running(step::write) || !write_from(t)) return false;
    serve_writes();
    return true;
  }
  if (read_into(t)) return true;
  static_cast<void>(take_arrived());
  return read_into(t);
}

// Returns false if nothing has arrived. What has arrived before an error comes first.
bool tls_core::read_into(network_transfer& t) noexcept {
  t.bytes = 0;
  t.error = {};
  if (t.buffer_count == 0) return true;
  switch (engine_->read(t.buffers.data(), t.buffer_count, t.bytes)) {
    case outcome::done: return true;
    case outcome::ended: t.error = asio::error::eof; return true;
    case outcome::failed: t.error = engine_->error(); return true;
    case outcome::wants_output: return false;
    case outcome::wants_input: break;
  }
  t.error = std::exchange(read_error_, {});
  return bool(t.error);
}

bool tls_core::is_readable() noexcept {
  const outcome o = engine_->peek();
  return o == outcome::wants_input ? bool(read_error_) : o != outcome::wants_output;
}

connection_status tls_core::status() const noexcept {
  if (!is_open()) return {};
  connection_status s = below_.status();
  s.unread += engine_->unread();
  s.unsent += sending_.size() + engine_->output().size();
  s.protocol = engine_->protocol();
  s.cipher = engine_->cipher();
  return s;
}

// Returns false if a record is still being sent.
bool tls_core::write_from(network_transfer& t) noexcept {
  t.bytes = 0;
  t.error = {};
  if (t.buffer_count == 0) return true;
  if (end_requested_) {
    t.error = asio::error::broken_pipe;
  } else if (write_error_) {
    t.error = std::exchange(write_error_, asio_error_code(asio::error::broken_pipe));
  } else if (engine_->write(t.buffers.data(), t.buffer_count, t.bytes) != outcome::done) {
    t.error =
        engine_->error() ? engine_->error() : asio_error_code(asio::ssl::error::unexpected_result);
  }
  return true;
}

// ------------------------------------------------------------------------------------------ steps

void tls_core::serve() noexcept {
  serve_reads();
  serve_writes();
}

void tls_core::serve_reads() noexcept {
  if (write_error_) engine_->output().clear();  // nothing can be answered any more
  while (!is_running(step::read)) {
    network_transfer* const read = slot_of(kind::read);
    if (read && read_into(*read)) finish(kind::read, read->error, read->bytes);
    if (slot_of(kind::wait_readable) && is_readable()) finish(kind::wait_readable, {}, 0);
    finish_if_cancelled(kind::read);
    finish_if_cancelled(kind::wait_readable);
    if (!slot_of(kind::read) && !slot_of(kind::wait_readable)) return;
    if (engine_->is_output_full()) return;  // continues after the write below
    begin(step::read);
  }
}

void tls_core::serve_writes() noexcept {
  while (!is_running(step::write)) {
    if (write_error_) {
      engine_->output().clear();
    } else if (!engine_->output().empty()) {
      begin(step::write);
      continue;
    }
    if (encrypted_ > 0) {
      finish(kind::write, {}, std::exchange(encrypted_, 0));
      continue;
    }
    if (!encrypt_next()) break;
  }
  if (slot_of(kind::wait_writable) && !is_running(step::wait) && !is_running(step::write)) {
    begin(step::wait);
  }
}

// Returns false if there is nothing to send.
bool tls_core::encrypt_next() noexcept {
  if (network_transfer* const t = slot_of(kind::write)) {
    static_cast<void>(write_from(*t));
    if (t->error || t->buffer_count == 0) {
      finish(kind::write, t->error, 0);
    } else {
      encrypted_ = t->bytes;
    }
    return true;
  }
  if (end_requested_ && !end_encrypted_ && !write_error_) {
    end_encrypted_ = true;
    engine_->end();
    return true;
  }
  if (end_encrypted_ && !end_sent_) {
    end_sent_ = true;
    below_.shutdown_send();
  }
  return false;
}

void tls_core::begin(step s) noexcept {
  is_running(s) = true;
  beginning_ = true;
  asio_error_code failed;
  try {
    handler h(shared_from_this(), s);
    switch (s) {
      case step::read: below_.async_read_some(engine_->input_space(), std::move(h)); break;
      case step::write:
        sending_.swap(engine_->output());
        asio::async_write(below_, asio::buffer(sending_), std::move(h));
        break;
      case step::wait: below_.async_wait(connection::wait_type::wait_write, std::move(h)); break;
    }
  } catch (...) {
    failed = asio::error::no_memory;
  }
  beginning_ = false;
  if (!failed) return;
  is_running(s) = false;
  if (s == step::read) read_error_ = failed;
  if (s == step::write) write_has_failed(failed);
  if (s == step::wait) finish(kind::wait_writable, failed, 0);
}

void tls_core::ended(step s, const asio_error_code& ec, std::size_t bytes) noexcept {
  is_running(s) = false;
  switch (s) {
    case step::read:
      engine_->received(bytes);
      if (ec == asio::error::eof) {
        read_error_ = asio::ssl::error::stream_truncated;
      } else if (ec != asio::error::operation_aborted) {
        read_error_ = ec;
      }
      break;
    case step::write:
      std::string().swap(sending_);  // an idle connection has no output buffer
      if (ec) write_has_failed(ec);
      break;
    case step::wait:
      if (slot_of(kind::wait_writable) && ec != asio::error::operation_aborted) {
        finish(kind::wait_writable, ec, 0);
      }
      finish_if_cancelled(kind::wait_writable);
      break;
  }
  if (closed_) return send_rest();
  serve();
}

void tls_core::write_has_failed(const asio_error_code& ec) noexcept {
  sending_.clear();
  engine_->output().clear();
  write_error_ = ec;
  if (std::exchange(encrypted_, 0) > 0) {
    finish(kind::write, std::exchange(write_error_, asio_error_code(asio::error::broken_pipe)), 0);
  }
}

// The scheduler ends: it destroys transfers instead of running them.
void tls_core::abandon(step s) noexcept {
  if (beginning_) return;
  is_running(s) = false;
  for (network_transfer*& slot : pending_) {
    if (network_transfer* const t = std::exchange(slot, nullptr)) {
      t->pending = false;
      t->drop(*t);
    }
  }
}

// ---------------------------------------------------------------------------------------- closing

asio_error_code tls_core::shutdown_send() noexcept {
  if (closed_) return asio::error::bad_descriptor;
  if (write_error_) return asio::error::not_connected;
  if (std::exchange(end_requested_, true)) return {};
  serve_writes();
  return {};
}

// Reads without a wait. Returns true if the peer has sent data that the program has not read. A
// close_notify is none.
bool tls_core::take_arrived() noexcept {
  for (int i = 0; i < most_reads_at_close; ++i) {
    const outcome o = engine_->peek();
    if (o != outcome::wants_input) return o == outcome::done;
    if (is_running(step::read)) return false;
    network_transfer t;
    t.what = kind::read;
    const auto space = engine_->input_space();
    t.buffers[0] = {space.data(), space.size()};
    t.buffer_count = 1;
    if (!below_.stream().try_transfer(t)) return false;
    engine_->received(t.bytes);
    if (t.error) {
      read_error_ = t.error == asio::error::eof
                        ? asio_error_code(asio::ssl::error::stream_truncated)
                        : t.error;
      return false;
    }
  }
  return false;
}

void tls_core::close(bool resets) noexcept {
  if (closed_) return;
  closed_ = true;
  encrypted_ = 0;
  for (std::size_t k = 0; k < pending_.size(); ++k) {
    if (pending_[k]) finish(static_cast<kind>(k), asio::error::operation_aborted, 0);
  }
  // With unread data, the kernel would reset a connection without TLS.
  if (resets || !below_.is_open() || take_arrived()) return below_.reset();
  if (!write_error_) {
    if (!end_encrypted_) engine_->end();
    send_at_once();
  }
  if (scheduler::current_is_ending()) return below_.close();
  if (is_running(step::read)) read_signal_.emit(asio::cancellation_type::terminal);
  if (is_running(step::wait)) wait_signal_.emit(asio::cancellation_type::terminal);
  send_rest();
  if (!is_running(step::write)) return;
  try {
    scheduler& s = below_.get_scheduler();
    get_network_backend(s).connecting().spawn_on(s, close_later(shared_from_this()), "close TLS");
  } catch (const std::exception&) {  // a lack of memory
    below_.close();
  }
}

void tls_core::send_at_once() noexcept {
  std::string& output = engine_->output();
  while (!output.empty() && !is_running(step::write)) {
    network_transfer t;
    t.what = kind::write;
    t.buffers[0] = {output.data(), output.size()};
    t.buffer_count = 1;
    if (!below_.stream().try_transfer(t)) return;
    if (t.error) return write_has_failed(t.error);
    output.erase(0, t.bytes);
  }
}

// After close(): sends what is left, and then closes the connection below.
void tls_core::send_rest() noexcept {
  if (!is_running(step::write) && !write_error_ && !engine_->output().empty() && below_.is_open()) {
    begin(step::write);
  }
  if (is_running(step::write)) return;
  below_.close();
  sent_.set();
}

task<> tls_core::close_later(std::shared_ptr<tls_core> self) {
  static_cast<void>(co_await as_tuple(with_timeout(self->sent_.wait(), linger_limit)));
  self->below_.close();
}

}  // namespace LEAT::detail
