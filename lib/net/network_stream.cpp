#include <mutex>
#include <vector>

#include "base/internal/held_during_fork.hpp"
#include "base/internal/never_destroyed.hpp"
#include "leat/async/loop/internal/associated_wait.hpp"
#include "leat/async/wait_target.hpp"
#include "leat/base/asio.hpp"
#include "leat/net/network_backend.hpp"

#include LEAT_ASIO(error.hpp)

namespace LEAT {
namespace {

// The streams of the process. A number is the place of a stream, and how often the place was used.
struct stream_table {
  struct place {
    network_stream* stream = nullptr;
    std::uint32_t uses = 0;
    std::uint32_t next_free = 0;
  };
  std::vector<place> places{1};  // 0 ends the list of free ones
  std::uint32_t first_free = 0;
};

constinit std::mutex mutex_of_streams;
[[maybe_unused]] const int streams_registered = detail::held_during_fork<mutex_of_streams>();

stream_table& all_streams() {
  static detail::never_destroyed<stream_table> instance;
  return instance.get();
}

stream_table::place& place_of(std::uint64_t number) {
  return all_streams().places[static_cast<std::uint32_t>(number)];
}

// For dumps, on the thread of the operation's scheduler `s`.
void inspect_stream(std::uint64_t number, const scheduler& s, wait_target& target) {
  const network_stream* const stream = network_stream::find(number, s);
  if (!stream) return;
  const endpoint peer = stream->peer();
  target.type = "connection";
  target.name = (peer ? peer : stream->local()).text();
  if (!target.needs_state) return;
  const connection_status now = stream->status();
  target.stream_state.emplace(std::string(now.state), now.unread, now.unsent, now.last_received);
}

}  // namespace

const network_stream* network_stream::find(std::uint64_t number, const scheduler& s) noexcept {
  const std::lock_guard lock(mutex_of_streams);
  const network_stream* const its = place_of(number).stream;
  return its && its->number_ == number && its->scheduler_ == &s ? its : nullptr;
}

network_stream::network_stream() {
  detail::set_stream_inspector(&inspect_stream);
  const std::lock_guard lock(mutex_of_streams);
  stream_table& all = all_streams();
  std::uint32_t index = all.first_free;
  if (index == 0) {
    index = static_cast<std::uint32_t>(all.places.size());
    all.places.emplace_back();
  } else {
    all.first_free = all.places[index].next_free;
  }
  stream_table::place& mine = all.places[index];
  mine.stream = this;
  number_ = std::uint64_t{++mine.uses} << 32U | index;
}

network_stream::~network_stream() {
  const std::lock_guard lock(mutex_of_streams);
  stream_table::place& mine = place_of(number_);
  mine.stream = nullptr;
  mine.next_free = all_streams().first_free;
  all_streams().first_free = static_cast<std::uint32_t>(number_);
}

void network_stream::transfer_has_failed(std::uint64_t number, network_transfer::kind k,
                                         const asio_error_code& error) noexcept {
  if (error == asio::error::operation_aborted) return;
  const std::lock_guard lock(mutex_of_streams);
  const stream_table::place& its = place_of(number);
  if (its.stream && its.stream->number_ == number) {
    its.stream->must_ask_[static_cast<std::size_t>(k)].store(true, std::memory_order_relaxed);
  }
}

}  // namespace LEAT
