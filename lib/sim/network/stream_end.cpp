// The program's side of an end: reads, writes, closing and the laws. See stream_end_segments.cpp
// for the network's side.

#include "sim/network/stream_end.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "leat/base/asio.hpp"
#include "sim/network/planted_defect.hpp"
#include "sim/network/simulated_acceptor.hpp"
#include "sim/network/simulated_stream.hpp"
#include "sim/network/times.hpp"

#include LEAT_ASIO(error.hpp)

namespace LEAT::sim {

stream_end::stream_end(network_core& c, network_host& here, network_host& there, endpoint local,
                       endpoint peer, std::uint64_t number, bool reuses_port)
    : event(c.events),
      core_(c),
      here_(here),
      there_(there),
      local_(std::move(local)),
      peer_address_(std::move(peer)),
      number_(number),
      reuses_port_(reuses_port),
      send_buffer_(c.options.send_buffer),
      receive_buffer_(c.options.receive_buffer),
      retry_interval_(first_retry) {
  if (!is_unix()) here_.port_used(local_, reuses_port_);
}

stream_end::~stream_end() {
  if (program_) program_->forget();
  if (peer_) peer_->peer_ = nullptr;
  if (waits_in) waits_in->remove(*this);
  const bool waits = sent_end_first_ && end_received_ && !dead_;
  if (!is_unix()) here_.port_released(local_, reuses_port_, waits);
}

void stream_end::join(stream_end& a, stream_end& b) noexcept {
  a.peer_ = &b;
  b.peer_ = &a;
}

void stream_end::set_buried() noexcept {
  buried_ = true;
  event::cancel();
  stream_end* const peer = std::exchange(peer_, nullptr);
  if (peer && peer != this) {
    peer->peer_ = nullptr;
    peer->path_changed(false);
  }
  if (waits_in) std::exchange(waits_in, nullptr)->remove(*this);
}

std::string stream_end::text() const {
  return "connection " + std::to_string(number_) + " (" + core_.text_of(here_, local_) + " -> " +
         core_.text_of(there_, peer_address_) + ")";
}

// ------------------------------------------------------------------------------------- transfers

void stream_end::finish(network_transfer*& t, const asio_error_code& ec,
                        std::size_t bytes) noexcept {
  network_transfer& done = *std::exchange(t, nullptr);
  done.error = ec;
  done.bytes = bytes;
  done.pending = false;
  program_->get_scheduler().post(done);
}

namespace {

std::size_t size_of(const network_transfer& t) noexcept {
  std::size_t sum = 0;
  for (std::size_t i = 0; i < t.buffer_count; ++i) sum += t.buffers[i].size;
  return sum;
}

}  // namespace

// Returns false if there is nothing to report. What has arrived before an error comes first.
bool stream_end::read_into(network_transfer& t) {
  t.bytes = 0;
  t.error = {};
  const std::size_t wanted = size_of(t);
  if (wanted == 0) return true;
  if (read_ == received_.size()) {
    if (end_received_) {
      t.error = asio::error::eof;
    } else if (error_) {
      t.error = is_planted("errors are repeated") ? error_ : std::exchange(error_, {});
    } else if (dead_) {
      t.error = asio::error::eof;
    } else {
      return false;
    }
    return true;
  }
  std::size_t n = std::min(wanted, received_.size() - read_);
  if (n > 1 && core_.chance(core_.options.faults.short_transfer, "short read?")) {
    n = n - 1 - core_.decisions.choose(n - 1, "bytes less");
  }
  const std::string_view bytes = std::string_view(received_).substr(read_, n);
  if (expected_.compare(0, n, bytes) != 0) {
    core_.report(text() + ": the bytes that were read are not those that were written, from byte " +
                 std::to_string(bytes_read_));
  }
  expected_.erase(0, n);
  std::size_t copied = 0;
  for (std::size_t i = 0; copied < n; ++i) {
    const std::size_t part = std::min(n - copied, t.buffers[i].size);
    std::memcpy(t.buffers[i].data, bytes.data() + copied, part);
    copied += part;
  }
  t.bytes = n;
  bytes_read_ += n;
  read_ += n;
  if (read_ == received_.size()) {
    received_.clear();
    read_ = 0;
  }
  return true;
}

// After a read: the news of the free space travels to the peer, which then sends more.
void stream_end::tell_window() {
  if (!peer_) return;
  if (is_unix()) {
    peer_->serve_writes();
  } else if (!peer_->unsent_.empty()) {
    peer_->send(core_.base_latency(here_, there_));
  }
}

// Returns false if the send buffer is full.
bool stream_end::write_from(network_transfer& t) {
  t.bytes = 0;
  t.error = {};
  const std::size_t wanted = size_of(t);
  if (wanted == 0) return true;
  if (error_ && !is_unix()) {
    t.error = std::exchange(error_, {});
    return true;
  }
  if (dead_ || end_requested_) {
    t.error = asio::error::broken_pipe;
    return true;
  }
  const std::size_t free = free_space();
  if (free == 0 || (write_waits_ && free < least_to_continue())) {
    write_waits_ = true;
    return false;
  }
  write_waits_ = false;
  std::size_t n = std::min(wanted, free);
  if (n > 1 && core_.chance(core_.options.faults.short_transfer, "short write?")) {
    n = n - 1 - core_.decisions.choose(n - 1, "bytes less");
  }
  const std::size_t before = unsent_.size();
  for (std::size_t i = 0; unsent_.size() - before < n; ++i) {
    const std::size_t left = n - (unsent_.size() - before);
    unsent_.append(static_cast<const char*>(t.buffers[i].data), std::min(left, t.buffers[i].size));
  }
  if (peer_) peer_->expected_.append(unsent_, before);
  t.bytes = n;
  send(duration::zero());
  return true;
}

std::size_t stream_end::least_to_continue() const noexcept {
  if (is_planted("a writer wakes at the first free byte")) return 1;
  return std::max<std::size_t>(send_buffer_ / writable_share, 1);
}

bool stream_end::is_readable() const noexcept {
  return read_ < received_.size() || end_received_ || error_ || dead_;
}

bool stream_end::is_writable() const noexcept {
  const std::size_t free = free_space();
  return dead_ || error_ || end_requested_ || free >= least_to_continue();
}

void stream_end::serve_reads() {
  network_transfer*& read = slot_of(kind::read);
  if (network_transfer* t = std::exchange(read, nullptr)) {
    if (read_into(*t)) {
      finish(t, t->error, t->bytes);
      tell_window();
    } else {
      read = t;
    }
  }
  network_transfer*& wait = slot_of(kind::wait_readable);
  if (wait && is_readable()) finish(wait, {}, 0);
}

void stream_end::serve_writes() {
  // A Unix socket delivers within write_from(), and the peer that reads may get here again.
  network_transfer*& write = slot_of(kind::write);
  if (network_transfer* t = std::exchange(write, nullptr)) {
    if (write_from(*t)) {
      finish(t, t->error, t->bytes);
    } else {
      write = t;
    }
  }
  network_transfer*& wait = slot_of(kind::wait_writable);
  if (wait && is_writable()) finish(wait, {}, 0);
}

void stream_end::start(network_transfer& t) noexcept {
  network_transfer*& slot = slot_of(t.what);
  if (slot) {
    const bool reads = t.what == kind::read || t.what == kind::wait_readable;
    core_.report(text() + ": two " + (reads ? "reads" : "writes") + " at the same time");
    network_transfer* refused = &t;
    finish(refused, asio::error::already_started, 0);
    return;
  }
  slot = &t;
  if (is_unix() && core_.takes_time()) return set(now() + loopback_latency);
  if (t.what == kind::read || t.what == kind::wait_readable) {
    serve_reads();
  } else {
    serve_writes();
    if (!dead_ && !is_unix()) plan();
  }
}

bool stream_end::try_transfer(network_transfer& t) noexcept {
  if (t.what == kind::write) return write_from(t);
  const bool has_ended = read_into(t);
  if (has_ended) tell_window();
  return has_ended;
}

void stream_end::cancel(network_transfer& t) noexcept {
  network_transfer*& slot = slot_of(t.what);
  if (slot == &t) finish(slot, asio::error::operation_aborted, 0);
}

void stream_end::cancel_all() noexcept {
  for (network_transfer*& t : pending_) {
    if (t) finish(t, asio::error::operation_aborted, 0);
  }
}

// --------------------------------------------------------------------------------------- closing

asio_error_code stream_end::shutdown_send() noexcept {
  if (!is_unix() && (dead_ || is_over())) return asio::error::not_connected;
  if (std::exchange(end_requested_, true)) return {};
  if (network_transfer*& write = slot_of(kind::write)) finish(write, asio::error::broken_pipe, 0);
  send(duration::zero());
  return {};
}

void stream_end::close(bool resets) noexcept {
  if (buried_ || std::exchange(closed_, true)) return;
  cancel_all();
  const bool was_accepted = std::exchange(program_, nullptr) != nullptr;
  const std::size_t unread = received_.size() - read_;
  if (is_unix()) {
    close_unix(unread > 0 || !was_accepted);
  } else if (dead_) {
    plan();
  } else if (resets || resets_on_close_ || unread > 0) {
    std::string line = here_.name() + " closes " + text();
    if (unread > 0) line += " with " + std::to_string(unread) + " unread bytes";
    line += ": reset";
    core_.note(line + reset_peer());
  } else {
    if (!std::exchange(end_requested_, true)) send(duration::zero());
    plan();
    end_if_complete();
  }
}

void stream_end::abandon() noexcept {
  if (closed_) return;
  simulated_stream* const program = program_;
  close(false);
  if (program) program->forget();
}

void stream_end::lose_power() noexcept {
  simulated_stream* const program = program_;
  if (program) {
    cancel_all();
    program_ = nullptr;
    program->forget();
  }
  core_.bury(*this);
}

// A peer reads what has been written before, then the error, if bytes were unread, and the end.
void stream_end::close_unix(bool has_unread) noexcept {
  if (stream_end* const peer = std::exchange(peer_, nullptr)) {
    peer->peer_ = nullptr;
    peer->dead_ = true;
    if (has_unread) peer->error_ = asio::error::connection_reset;
    peer->serve_reads();
    peer->serve_writes();
    if (peer->closed_) core_.bury(*peer);
  }
  core_.bury(*this);
}

// Segments on the way still arrive before the reset, unless they are lost: nobody sends them again.
// Returns what is lost. It may destroy this object.
std::string stream_end::reset_peer() {
  std::size_t lost = unsent_.size();
  unsent_.clear();
  const auto first_lost = std::ranges::find_if(
      flights_, [](const segment& s) { return !s.has_arrived && s.arrives == no_deadline; });
  for (auto i = first_lost; i != flights_.end(); ++i) lost += i->size;
  flights_.erase(first_lost, flights_.end());
  dead_ = true;
  segment reset;
  reset.is_reset = true;
  flights_.push_back(std::move(reset));
  transmit(flights_.back(), duration::zero());
  if (is_planted("a lost reset is sent again") && flights_.back().arrives == no_deadline) {
    flights_.back().arrives = now() + first_retry;
  }
  std::string line;
  if (lost > 0) line += ", " + std::to_string(lost) + " bytes are not sent";
  if (flights_.back().arrives == no_deadline) line += ", and the reset is lost";
  plan();
  return line;
}

void stream_end::fail(const asio_error_code& ec) noexcept {
  if (std::exchange(dead_, true)) return;
  // After the end of the peer, a reset is an error of the next write only.
  error_ = end_received_ && ec == asio::error::connection_reset
               ? asio_error_code(asio::error::broken_pipe)
               : ec;
  if (is_planted("a reset clears the receive buffer")) {
    received_.clear();
    read_ = 0;
  }
  unsent_.clear();
  flights_.clear();
  retry_at_ = forgotten_at_ = silent_until_ = no_deadline;
  if (program_) {
    // If both wait, the first one takes the error. Asio retries the write first.
    const bool both_wait = slot_of(kind::read) && slot_of(kind::write);
    if (both_wait && core_.decisions.choose(2, "which operation fails") == 0) serve_writes();
    serve_reads();
    serve_writes();
  }
  plan();
  if (peer_ && peer_ != this) peer_->path_changed(false);
}

// ------------------------------------------------------------------------------------- questions

std::string stream_end::find_stuck_operation() const {
  if (is_unix() && due() != no_deadline) return {};
  const auto waits = [&](kind k) { return pending_[std::size_t(k)] != nullptr; };
  if ((waits(kind::read) || waits(kind::wait_readable)) && is_readable()) {
    return text() + ": a read waits although it could return";
  }
  if ((waits(kind::write) || waits(kind::wait_writable)) && is_writable()) {
    return text() + ": a write waits although the send buffer has space";
  }
  return {};
}

connection_status stream_end::status() const noexcept {
  connection_status s;
  s.unread = received_.size() - read_;
  s.unsent = unsent_.size() + unacknowledged();
  s.retransmissions = retransmissions_;
  s.round_trip = core_.base_latency(here_, there_) + core_.base_latency(there_, here_);
  if (last_received_ != time_point{}) s.last_received = now() - last_received_;
  if (dead_ && !is_unix()) return s;
  if (!end_requested_ || is_unix()) {
    s.state = end_received_ && !is_unix() ? "close-wait" : "established";
  } else if (!end_received_) {
    s.state = is_sent() ? "fin-wait-2" : "fin-wait-1";
  } else if (!is_over()) {
    s.state = sent_end_first_ ? "closing" : "last-ack";
  }
  return s;
}

std::string stream_end::table_line() const {
  const connection_status s = status();
  std::string line = here_.name() + ": " + text() + ' ' + std::string(s.state);
  line += ", " + std::to_string(s.unread) + " unread, " + std::to_string(s.unsent) + " unsent";
  if (s.retransmissions > 0) line += ", " + std::to_string(s.retransmissions) + " sent again";
  return closed_ ? line + ", closed by the program" : line;
}

}  // namespace LEAT::sim
