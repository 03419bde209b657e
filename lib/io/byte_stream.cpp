#include "leat/io/detail/byte_stream.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "codec/inflate_limits.hpp"
#include "leat/core/error.hpp"

namespace leat::detail {
namespace {

// Enough to tell what nearly all files are compressed with.
constexpr std::size_t beginning_size = 12;

bool tells(byte_view beginning) {
  return beginning.size() >= beginning_size && !needs_compression_sample(beginning);
}

}  // namespace

void check(const byte_stream_options& options, std::string_view owner) {
  check(options.read, owner);
  if (const char* const why = detail::zero_limit(options.inflate)) {
    throw failure(errc::invalid_argument, std::string(owner) + ": " + why);
  }
}

// The inflated bytes, and how far those in view of the file are used up.
struct byte_stream::inflation {
  inflation(compression format, const byte_stream_options& o, std::size_t headroom)
      : decoder(format, o.inflate),
        chunk_size(o.read.chunk_size),
        pool(chunk_pool::make(inflated_chunks, headroom, chunk_size)) {}
  inflation(const inflation&) = delete;
  inflation& operator=(const inflation&) = delete;
  ~inflation() {
    view.restart(0);
    pool->close();
  }

  void restart() noexcept {
    decoder.reset();
    view.restart(0);
    unused = 0;
    source_ended = false;
  }

  inflater decoder;
  const std::size_t chunk_size;
  chunk_pool* const pool;
  window view;
  std::size_t unused = 0;  // bytes at the end of the source's view
  bool source_ended = false;
};

byte_stream::byte_stream(file& f, const byte_stream_options& options, std::size_t headroom)
    : file_(f),
      options_(options),
      headroom_(headroom),
      source_(f, options.read, headroom),
      type_(options.compression_type) {
  if (type_) start_inflating();
}

byte_stream::~byte_stream() = default;

const window& byte_stream::view() const noexcept {
  return inflation_ ? inflation_->view : source_.view();
}

void byte_stream::start_inflating() {
  if (*type_ == compression::none) return;
  inflation_ = std::make_unique<inflation>(*type_, options_, headroom_);
}

// Finds out what the file is compressed with, by its first bytes.
task<bool> byte_stream::begin(std::source_location where) {
  bool more = true;
  const window& first = source_.view();
  while (more && !tells({first.data(), first.size()})) {
    more = co_await source_.advance(first.size(), where);
  }
  type_ = options_.detect({first.data(), first.size()});
  start_inflating();
  if (!inflation_) co_return first.size() > 0;
  inflation_->unused = first.size();
  inflation_->source_ended = !more;
  co_return co_await inflate(0, 0, where);
}

// Whatever is in view of the file is inflated before more of it is waited for: so nothing is half
// done while this waits.
task<bool> byte_stream::inflate(std::size_t carried, std::uint64_t needed,
                                std::source_location where) {
  inflation& i = *inflation_;
  const window::demand d{.carried = carried, .needed = needed, .certain = false};
  for (;;) {
    if (inflate_some(d)) co_return true;
    if (fault_ || i.source_ended) {
      i.view.shrink(carried);
      co_return false;
    }
    if (co_await source_.advance(0, where)) {
      i.unused = source_.view().size();
    } else {
      i.source_ended = true;
    }
  }
}

// True when that has brought bytes into view.
bool byte_stream::inflate_some(const window::demand& d) {
  inflation& i = *inflation_;
  if (fault_) return false;
  window::room room = i.view.room_for(*i.pool, d, i.chunk_size);
  const window& source = source_.view();
  const byte_view in(source.data() + (source.size() - i.unused), i.unused);
  inflate_result r = i.decoder.inflate(in, {room.at, room.size});
  i.unused -= r.consumed;
  if (r.produced > 0) {
    i.view.slide(*i.pool, std::move(room), d, r.produced);
    return true;
  }
  if (!r.failed() && i.source_ended) r = i.decoder.finish();
  if (r.failed()) {
    fault_.emplace();
    fault_->reason = code_of(r.end);
    fault_->what = describe(r);
  }
  return false;
}

std::uint64_t byte_stream::seek(std::uint64_t offset) {
  if (can_jump()) {
    const std::uint64_t there = std::min(offset, size());
    source_.seek(there);
    return there;
  }
  if (inflation_ && offset >= inflation_->view.end()) {
    inflation_->view.restart(inflation_->view.end());
    return inflation_->view.end();
  }
  if (view().end() == 0) return 0;
  if (file_.status().is_stream) {
    throw failure(errc::unimplemented,
                  file_.path() + ": this file can only be read from its beginning to its end");
  }
  source_.seek(0);
  if (inflation_) inflation_->restart();
  fault_.reset();
  return 0;
}

}  // namespace leat::detail
