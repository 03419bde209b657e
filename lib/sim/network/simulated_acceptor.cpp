#include "sim/network/simulated_acceptor.hpp"

#include <algorithm>
#include <utility>

#include "leat/base/asio.hpp"
#include "leat/sim/allocation_faults.hpp"
#include "sim/network/simulated_stream.hpp"
#include "sim/network/stream_end.hpp"

#include LEAT_ASIO(error.hpp)

namespace LEAT::sim {

simulated_acceptor::simulated_acceptor(network_core& c, network_host& h, scheduler& s,
                                       const endpoint& at, const listen_options& o)
    : core_(&c),
      host_(&h),
      scheduler_(s),
      local_(at),
      options_(o),
      limit_(static_cast<std::size_t>(std::max(o.backlog, 0))) {
  if (!at.is_unix()) {
    if (at.port() == 0) {
      local_ = endpoint(at.host(), h.free_port());
    } else {
      h.check_port(at, o.reuse_address, o.reuse_port);
    }
  }
  h.add(*this);
}

simulated_acceptor::~simulated_acceptor() { end(false); }

void simulated_acceptor::notify() noexcept {
  if (waiting_) scheduler_.post(*std::exchange(waiting_, nullptr));
}

void simulated_acceptor::expect(stream_end& e) {
  e.waits_in = this;
  expected_.push_back(&e);
}

bool simulated_acceptor::list(stream_end& e) {
  if (is_full()) return false;
  std::erase(expected_, &e);
  e.is_listed = true;
  listed_.push_back(&e);
  notify();
  return true;
}

void simulated_acceptor::remove(stream_end& e) noexcept {
  std::erase(expected_, &e);
  std::erase(listed_, &e);
}

std::unique_ptr<network_stream> simulated_acceptor::accept(asio_error_code& error) {
  const allocation_faults::without_faults own;
  if (closed_) error = asio::error::bad_descriptor;
  if (listed_.empty()) return nullptr;
  switch (core_->fault_of_accept()) {
    case network_fault::no_descriptor:
      error = asio::error::no_descriptors;
      core_->note("FAULT: accept fails, out of descriptors");
      return nullptr;
    case network_fault::no_memory:
      error = asio::error::no_buffer_space;
      core_->note("FAULT: accept fails, out of memory");
      return nullptr;
    default: break;
  }
  stream_end& e = *listed_.front();
  auto stream = std::make_unique<simulated_stream>(e);
  listed_.pop_front();
  e.waits_in = nullptr;
  e.apply(options_.accepted);
  return stream;
}

void simulated_acceptor::wait(work_item& ready) {
  waiting_ = &ready;
  if (!listed_.empty()) notify();
}

void simulated_acceptor::stop_waiting() noexcept { notify(); }

void simulated_acceptor::close() noexcept { end(false); }

// Linux resets the connections that were not accepted.
void simulated_acceptor::end(bool keeps_path) noexcept {
  if (std::exchange(closed_, true) || !core_) return;
  const allocation_faults::without_faults own;
  if (keeps_path) notify();  // its process has ended, but somebody may still use it
  waiting_ = nullptr;
  host_->remove(*this, keeps_path);
  core_->backlog_resets += listed_.size();
  for (stream_end* const e : take_all()) e->close(true);
}

std::vector<stream_end*> simulated_acceptor::take_all() noexcept {
  std::vector<stream_end*> all(listed_.begin(), listed_.end());
  all.insert(all.end(), expected_.begin(), expected_.end());
  for (stream_end* const e : all) e->waits_in = nullptr;
  listed_.clear();
  expected_.clear();
  return all;
}

void simulated_acceptor::lose_power() noexcept {
  static_cast<void>(take_all());
  end(false);
}

std::string simulated_acceptor::table_line() const {
  return host_->name() + ": listening at " + local_.text() + ", " + std::to_string(listed_.size()) +
         " waiting";
}

}  // namespace LEAT::sim
