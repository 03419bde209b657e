// The network's side of an end: segments, acknowledgements, retries and the time of each.

#include <algorithm>
#include <utility>

#include "leat/base/asio.hpp"
#include "sim/network/planted_defect.hpp"
#include "sim/network/simulated_acceptor.hpp"
#include "sim/network/stream_end.hpp"
#include "sim/network/times.hpp"

#include LEAT_ASIO(error.hpp)

namespace LEAT::sim {

// --------------------------------------------------------------------------------------- sending

std::size_t stream_end::unacknowledged() const noexcept {
  std::size_t sum = 0;
  for (const segment& s : flights_) {
    if (!s.has_arrived || s.acknowledged > now()) sum += s.size;
  }
  return sum;
}

std::size_t stream_end::free_space() const noexcept {
  if (is_unix()) return std::min(send_buffer_, window());  // what is written has arrived
  const std::size_t used = unsent_.size() + unacknowledged();
  return used < send_buffer_ ? send_buffer_ - used : 0;
}

// The bytes that the peer's kernel still accepts. One that does not know the connection answers
// whatever arrives with a reset.
std::size_t stream_end::window() const noexcept {
  if (!peer_ || peer_->closed_ || peer_->dead_) return SIZE_MAX;
  std::size_t used = peer_->received_.size() - peer_->read_;
  for (const segment& s : flights_) used += s.has_arrived ? 0 : s.size;
  return used < peer_->receive_buffer_ ? peer_->receive_buffer_ - used : 0;
}

// Sends what fits into the window of the peer, as if `delay` from now.
void stream_end::send(duration delay) {
  if (dead_) return;
  for (;;) {
    const bool ends = end_requested_ && !end_sent_;
    if (unsent_.empty() && !ends) break;
    std::size_t n = std::min({unsent_.size(), window(), largest_segment});
    if (n == 0 && !unsent_.empty()) break;
    if (!no_delay_ && n < packet_size && !ends && unacknowledged() > 0) break;  // Nagle
    if (n > 1 && core_.chance(core_.options.faults.split, "split?")) {
      n = n - 1 - core_.decisions.choose(n - 1, "bytes less");
    }
    segment s;
    s.bytes = unsent_.substr(0, n);
    s.size = n;
    unsent_.erase(0, n);
    if (unsent_.empty() && ends) {
      s.is_end = end_sent_ = true;
      sent_end_first_ = !end_received_;
    }
    send_segment(std::move(s), delay);
  }
  if (!is_unix()) plan();
}

void stream_end::send_segment(segment s, duration delay) {
  if (is_unix()) {
    if (peer_) peer_->receive(s);
    return;
  }
  if (flights_.empty()) unacknowledged_since_ = now();
  flights_.push_back(std::move(s));
  transmit(flights_.back(), delay);
}

void stream_end::transmit(segment& s, duration delay) {
  const network_fault fault = core_.fault_of_segment(&here_ == &there_);
  s.is_resetting = fault == network_fault::reset;
  s.is_held = core_.path(here_, there_) == network_core::path_state::holding;
  s.arrives = core_.travel(here_, there_, s.size, fault);
  if (is_planted("a partition removes bytes") && s.size > 0 && !core_.is_up(here_, there_)) {
    s.bytes.clear();
    s.size = 0;
    s.arrives = now();
  }
  if (s.arrives == no_deadline) return;
  s.arrives = std::max(s.arrives + delay, last_arrival_);
  last_arrival_ = s.arrives;
}

// --------------------------------------------------------------------------------------- arrival

std::string stream_end::happen() {
  if (is_unix()) {
    serve_reads();
    serve_writes();
    return "time passes for " + text();
  }
  collect_acknowledgements();
  std::string line;
  const auto next = next_to_arrive();
  if (next != flights_.end() && next->arrives <= now()) {
    line = deliver(*next);
  } else if (retry_at_ <= now()) {
    line = retry();
  } else if (silent_until_ <= now()) {
    if (has_path() && is_alone()) {
      fail(asio::error::connection_reset);
      line = text() + ": a probe is answered with a reset";
    } else {
      line = give_up();
    }
  } else if (forgotten_at_ <= now()) {
    line = text() + " is forgotten: its peer has not closed it";
    core_.bury(*this);
  } else {
    line = "an acknowledgement of " + text() + " arrives";
  }
  if (buried_) return line;
  send(duration::zero());
  if (program_) serve_writes();
  plan();
  end_if_complete();
  return line;
}

std::string stream_end::deliver(segment& s) {
  std::string what = s.is_reset ? "reset" : s.size > 0 ? std::to_string(s.size) + " bytes" : "end";
  if (s.is_end && s.size > 0) what += " and the end";
  std::string line = what + " of " + text() + " arrive" + (s.size > 0 ? "" : "s");
  stream_end* const peer = peer_;
  const auto is_lost = [&s](std::string text) {
    s.arrives = no_deadline;
    return text;
  };
  if (!there_.is_up()) return is_lost(line + ", but " + there_.name() + " is off");
  if (s.is_resetting) {
    flights_.clear();
    if (peer) peer->fail(asio::error::connection_reset);
    fail(asio::error::connection_reset);
    return "FAULT: a device on the path resets " + text();
  }
  if (s.is_reset) {
    flights_.clear();
    if (peer && peer->waits_in && !peer->is_listed) {
      core_.bury(*peer);
      return line + ", and " + there_.name() + " forgets it";
    }
    if (peer) peer->fail(asio::error::connection_reset);
    return line;
  }
  if (peer && peer->waits_in && !peer->is_listed && !peer->waits_in->list(*peer)) {
    return is_lost(line + ", but " + there_.name() + " does not know it yet");
  }
  if (!peer || peer->dead_ || (peer->closed_ && s.size > 0)) {
    line += ", and " + there_.name() + " answers with a reset";
    if (peer) {
      line += peer->reset_peer();
    } else {
      core_.send_reset(there_, *this);
    }
    return is_lost(line);
  }
  s.has_arrived = true;
  acknowledge(s, duration::zero());
  const bool is_answered = s.acknowledged != no_deadline;
  peer->receive(s);
  if (!is_answered) return line + ", but is not acknowledged";
  // The acknowledgement shows which others are missing: these are sent again at once.
  for (segment& other : flights_) {
    if (!dead_ && !other.has_arrived && other.arrives == no_deadline) {
      ++retransmissions_;
      transmit(other, core_.base_latency(there_, here_));
    }
  }
  return line;
}

void stream_end::receive(segment& s) {
  received_ += s.bytes;
  s.bytes.clear();
  s.bytes.shrink_to_fit();
  last_received_ = now();
  if (s.is_end) end_received_ = true;
  const bool is_missed = is_planted("the end does not wake a read") && s.is_end && s.size == 0;
  if (program_ && !is_missed) serve_reads();
  if (!is_unix()) {
    plan();
    end_if_complete();
  }
}

// ------------------------------------------------------------------------------- acknowledgements

bool stream_end::has_path() const noexcept {
  return core_.is_up(here_, there_) && core_.is_up(there_, here_);
}

void stream_end::acknowledge(segment& s, duration delay) {
  if (!core_.is_up(there_, here_)) return;
  s.acknowledged = now() + delay + core_.base_latency(there_, here_);
  for (segment& earlier : flights_) {  // an acknowledgement includes them
    if (&earlier == &s) break;
    earlier.acknowledged = std::min(earlier.acknowledged, s.acknowledged);
  }
}

void stream_end::collect_acknowledgements() {
  while (!flights_.empty() && flights_.front().has_arrived &&
         flights_.front().acknowledged <= now()) {
    flights_.pop_front();
    retries_ = 0;
    retry_interval_ = first_retry;
    retry_at_ = no_deadline;
    unacknowledged_since_ = now();
  }
}

bool stream_end::is_sent() const noexcept {
  return end_sent_ && unsent_.empty() && std::ranges::all_of(flights_, [](const segment& s) {
           return s.has_arrived && s.acknowledged != no_deadline;
         });
}

// Both ends have been exchanged: Linux then has no connection for this socket any more.
bool stream_end::is_over() const noexcept {
  return end_received_ && is_sent() && std::ranges::all_of(flights_, [this](const segment& s) {
           return s.acknowledged <= now();
         });
}

// When the next acknowledgement arrives for which an operation waits.
time_point stream_end::next_acknowledgement() const noexcept {
  const bool waits =
      pending_[std::size_t(kind::write)] || pending_[std::size_t(kind::wait_writable)];
  if (!waits && (no_delay_ || unsent_.empty())) return no_deadline;
  std::size_t free = free_space();
  const std::size_t wanted = least_to_continue();
  for (const segment& s : flights_) {
    if (!s.has_arrived || s.acknowledged == no_deadline) break;
    if (s.acknowledged > now()) free += s.size;
    if (waits && free >= wanted) return s.acknowledged;
    if (!waits && &s == &flights_.back()) return s.acknowledged;
  }
  return no_deadline;
}

// ----------------------------------------------------------------------------------------- retries

// What is lost, or is not acknowledged because the answer was lost, is sent again. So is a question
// for the window, if there is no path for the answer.
void stream_end::plan_retry() {
  const bool has_missing = std::ranges::any_of(flights_, &segment::is_missing);
  const bool is_limited = user_timeout_ > duration::zero() && window() == 0;
  const bool waits_for_window =
      !unsent_.empty() && unacknowledged() == 0 && (!has_path() || is_alone() || is_limited);
  if (dead_ || !here_.is_up() || (!has_missing && !waits_for_window)) {
    retry_at_ = no_deadline;
    return;
  }
  if (retry_at_ != no_deadline) return;
  retry_at_ = now() + retry_interval_;
  if (user_timeout_ > duration::zero()) {
    retry_at_ = std::min(retry_at_, std::max(now(), unacknowledged_since_ + user_timeout_));
  }
}

std::string stream_end::retry() {
  retry_at_ = no_deadline;
  ++retries_;
  const bool is_late =
      user_timeout_ > duration::zero() && now() >= unacknowledged_since_ + user_timeout_;
  if (is_late || retries_ > (closed_ ? most_orphan_retries : most_retries)) return give_up();
  retry_interval_ = std::min(2 * retry_interval_, longest_retry);
  const auto missing = std::ranges::find_if(flights_, &segment::is_missing);
  if (missing == flights_.end()) {  // a question for the window
    if (has_path()) retries_ = 0;
    if (has_path() && is_alone()) core_.send_reset(there_, *this);
    return text() + ": the window is asked for";
  }
  ++retransmissions_;
  std::string line = here_.name() + " sends again a segment of " + text();
  if (!missing->has_arrived) {
    transmit(*missing, duration::zero());
    return missing->arrives == no_deadline ? line + ", which is lost" : line;
  }
  if (core_.travel(here_, there_, missing->size, core_.fault_of_segment(&here_ == &there_)) ==
      no_deadline) {
    return line + ", which is lost";
  }
  if (there_.is_up() && !peer_) {
    core_.send_reset(there_, *this);
  } else if (there_.is_up() && peer_->dead_) {
    line += peer_->reset_peer();
  }
  if (peer_ && there_.is_up()) acknowledge(*missing, core_.base_latency(here_, there_));
  return line;
}

std::string stream_end::give_up() {
  std::string line = here_.name() + " gives up " + text();
  fail(asio::error::timed_out);
  return line;
}

void stream_end::path_changed(bool healed) {
  if (buried_ || is_unix()) return;
  if (healed) {
    for (segment& s : flights_) {
      const bool is_sent_now = s.is_held || is_planted("healing delivers immediately");
      if (!s.has_arrived && s.arrives == no_deadline && is_sent_now) {
        transmit(s, duration::zero());
      }
    }
  }
  silent_until_ = no_deadline;
  if (keeps_alive_ && !closed_ && !dead_) {
    if (!has_path()) {
      silent_until_ = now() + probes_.idle + probes_.probes * duration(probes_.interval);
    } else if (is_alone()) {
      silent_until_ = now() + probes_.idle;
    }
  }
  plan();
}

// ------------------------------------------------------------------------------------------ times

std::deque<stream_end::segment>::iterator stream_end::next_to_arrive() noexcept {
  return std::ranges::find(flights_, false, &segment::has_arrived);
}

// Sets when the next thing happens. Nothing is sent again for a connection that is dead.
void stream_end::plan() {
  if (buried_) return;
  const auto next = next_to_arrive();
  if (dead_) {
    const bool is_lost = next != flights_.end() && next->arrives == no_deadline && !next->is_held;
    if (next == flights_.end() || is_lost) flights_.clear();
    if (closed_ && flights_.empty()) {
      core_.bury(*this);
      return;
    }
    set(flights_.empty() ? no_deadline : next->arrives);
    return;
  }
  plan_retry();
  time_point first = std::min({retry_at_, forgotten_at_, silent_until_, next_acknowledgement()});
  if (next != flights_.end()) first = std::min(first, next->arrives);
  set(first);
}

// A connection that the program has closed ends when both ends have arrived, or the peer's does not
// arrive for a minute.
void stream_end::end_if_complete() {
  if (!closed_ || dead_ || buried_ || !is_sent()) return;
  if (end_received_) {
    core_.bury(*this);
  } else if (forgotten_at_ == no_deadline) {
    forgotten_at_ = now() + end_timeout;
    plan();
  }
}

}  // namespace LEAT::sim
