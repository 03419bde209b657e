#include "sim/network/connect_attempt.hpp"

#include <algorithm>
#include <chrono>
#include <memory>
#include <utility>

#include "leat/base/asio.hpp"
#include "leat/base/error.hpp"
#include "leat/sim/allocation_faults.hpp"
#include "sim/network/planted_defect.hpp"
#include "sim/network/simulated_acceptor.hpp"
#include "sim/network/stream_end.hpp"
#include "sim/network/times.hpp"

#include LEAT_ASIO(error.hpp)

namespace LEAT::sim {

connect_attempt::connect_attempt(network_core& c, network_host& from, const endpoint& to)
    : event(c.events), ended("network"), core_(c), from_(from), to_(to) {}

connect_attempt::~connect_attempt() {
  const allocation_faults::without_faults own;
  if (mine_) mine_->close(true);
}

std::string connect_attempt::text() const {
  return from_.name() + ": connect to " + (there_ ? core_.text_of(*there_, to_) : to_.text());
}

time_point connect_attempt::travel(const network_host& from, const network_host& to) {
  const bool within_host = &from == &to;
  return core_.travel(from, to, 0, within_host ? network_fault::none : core_.fault_of_handshake());
}

void connect_attempt::begin() {
  fault_ = core_.fault_of_connect();
  there_ = core_.find_host(from_, to_);
  local_ = from_.take_local(to_);
  if (fault_ == network_fault::unreachable || !there_) {
    return fail_later(asio::error::host_unreachable,
                      core_.now + std::chrono::seconds(there_ ? 0 : 3));
  }
  ask();
}

void connect_attempt::fail_later(const asio_error_code& ec, time_point when) {
  error_ = ec;
  stage_ = stage::failed;
  set(when);
}

void connect_attempt::ask() {
  ++asked_;
  if (core_.path(from_, *there_) == network_core::path_state::rejecting) {
    return fail_later(asio::error::host_unreachable,
                      core_.now + core_.base_latency(from_, *there_));
  }
  stage_ = stage::asking;
  const bool is_lost = fault_ == network_fault::timed_out || !there_->is_up();
  const time_point arrives = is_lost ? no_deadline : travel(from_, *there_);
  if (arrives == no_deadline) return pause();
  set(arrives);
}

// The first pauses take 1 s, and then each takes twice as long as the one before.
void connect_attempt::pause() {
  const int doublings = std::max(0, asked_ - 1 - linear_connect_retries);
  const time_point when = core_.now + std::chrono::seconds(1LL << doublings);
  if (asked_ > most_connect_retries) return fail_later(asio::error::timed_out, when);
  stage_ = stage::pausing;
  set(when);
}

std::string connect_attempt::happen() {
  switch (stage_) {
    case stage::pausing: ask(); return text() + ": asks again";
    case stage::asking: return arrive();
    case stage::answered: ended.set(); return text() + ": connected";
    case stage::failed: break;
  }
  ended.set();
  return text() + ": " + error_.message();
}

namespace {

// Returns null if it is gone, or can be accepted already.
stream_end* find_expected(network_core& c, std::uint64_t serial) {
  const auto found = c.ends().find(serial);
  if (found == c.ends().end()) return nullptr;
  stream_end& e = *found->second;
  return e.waits_in && !e.is_listed ? &e : nullptr;
}

// The client's answer has arrived at the server.
std::string list_expected(network_core& c, std::uint64_t serial) {
  stream_end* const e = find_expected(c, serial);
  if (!e) return "a new connection is known";
  if (!e->host().is_up()) return e->host().name() + " is off";
  if (e->waits_in->list(*e)) return e->text() + " can be accepted";
  return e->text() + " is not known: the backlog is full";
}

// A server that does not know whether the client is connected answers again, after 1 s, 2 s and so
// on, and then forgets the client.
void answer_later(network_core& c, std::uint64_t serial, int answers) {
  c.at(c.now + std::chrono::seconds(1LL << answers), [&c, serial, answers]() -> std::string {
    stream_end* const e = find_expected(c, serial);
    if (!e) return "a new connection is known";
    const std::string name = e->host().name();
    if (answers == most_answers) {
      c.bury(*e);
      return name + " forgets " + e->text();
    }
    answer_later(c, serial, answers + 1);
    const std::string line = name + " answers again: " + e->text();
    network_host& client = e->peer_host();
    const bool is_known = e->has_peer() && c.is_up(client, e->host());
    const time_point there = c.travel(e->host(), client, 0, c.fault_of_handshake());
    if (!is_known || there == no_deadline || c.fault_of_handshake() != network_fault::none) {
      return line + ", which is lost";
    }
    c.at(there + c.base_latency(client, e->host()),
         [&c, serial] { return list_expected(c, serial); });
    return line;
  });
}

}  // namespace

// The question has arrived at the host.
std::string connect_attempt::arrive() {
  if (!there_->is_up()) {
    pause();
    return text() + ": " + there_->name() + " is off";
  }
  simulated_acceptor* const listening = there_->find_listener(to_);
  const bool connects_to_itself = !listening && there_ == &from_ && local_ == to_;
  if (fault_ == network_fault::refused || (!listening && !connects_to_itself)) {
    const time_point back = travel(*there_, from_);
    if (back == no_deadline) {
      pause();
      return text() + ": the refusal is lost";
    }
    fail_later(asio::error::connection_refused, back);
    return text() + (listening ? ": FAULT: refused" : ": nobody listens");
  }
  if (listening && listening->is_full()) {
    if (is_planted("a full backlog refuses")) {
      fail_later(asio::error::connection_refused, core_.now);
      return text() + ": refused";
    }
    pause();
    return text() + ": the backlog is full";
  }
  const time_point back = travel(*there_, from_);
  if (back == no_deadline) {
    pause();
    return text() + ": the answer is lost";
  }
  const std::uint64_t number = core_.next_number();
  mine_ = &core_.add_end(
      std::make_unique<stream_end>(core_, from_, *there_, local_, to_, number, false));
  stage_ = stage::answered;
  set(back);
  if (connects_to_itself) {
    stream_end::join(*mine_, *mine_);
    return text() + ": connects to itself";
  }
  stream_end& theirs = core_.add_end(std::make_unique<stream_end>(
      core_, *there_, from_, to_, local_, number, listening->options().reuse_address));
  stream_end::join(*mine_, theirs);
  listening->expect(theirs);
  if (there_ == &from_) {
    listening->list(theirs);
    return text() + ": answered";
  }
  // The server knows the connection when the client's answer has arrived, or else its first bytes.
  // Nothing that the client sends later arrives at the same time.
  const time_point next = back + core_.base_latency(from_, *there_);
  const time_point known = std::max(back, next - std::chrono::microseconds(1));
  mine_->arrives_from(next);
  if (fault_ == network_fault::lost_backlog || !core_.is_up(from_, *there_)) {
    answer_later(core_, theirs.serial(), 0);
    return text() + ": answered, FAULT: the server does not know it";
  }
  core_.at(known, [&c = core_, serial = theirs.serial()]() -> std::string {
    std::string line = list_expected(c, serial);
    if (find_expected(c, serial)) answer_later(c, serial, 0);
    return line;
  });
  return text() + ": answered";
}

stream_end& connect_attempt::take() {
  if (error_) throw failure(error_, "connect to " + to_.text());
  return *std::exchange(mine_, nullptr);
}

}  // namespace LEAT::sim
