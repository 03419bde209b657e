#include "leat/io/stream/detail/decompressed_stream.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "codec/compression/deflate_header.hpp"
#include "codec/compression/inflate_limits.hpp"
#include "leat/async/detail/yield_turn.hpp"
#include "leat/base/error.hpp"

namespace leat::detail {
namespace {

// Enough to detect the compression of nearly all files.
constexpr std::size_t beginning_size = 12;

// Compressed bytes that are inflated at a time. Larger pieces with little output would block the
// other tasks of the scheduler.
constexpr std::size_t max_bytes_per_turn = std::size_t{128} << 10;
constexpr std::size_t least_ratio_inverse = 8;

// Returns false as soon as no compressed file begins with these bytes. Then it waits for no further
// bytes, because the rest of a pipe may come late.
bool may_be_compressed(byte_view beginning) noexcept {
  for (const compression format : {compression::gzip, compression::zlib}) {
    deflate_header header;
    header.begin(format);
    using status = deflate_header::status;
    const bool fits =
        std::ranges::none_of(beginning.first(std::min<std::size_t>(2, beginning.size())),
                             [&](std::byte b) { return header.feed(b) == status::bad; });
    if (fits) return true;
  }
  return false;
}

bool can_detect(byte_view beginning) {
  if (!may_be_compressed(beginning)) return true;
  return beginning.size() >= beginning_size && !needs_larger_sample(beginning);
}

}  // namespace

void check(const decompressed_stream_options& options, std::string_view owner) {
  check(options.read, owner);
  if (const char* const why = detail::zero_limit(options.inflate)) {
    throw failure(errc::invalid_argument, std::string(owner) + ": " + why);
  }
}

// The inflated bytes, and the used part of the file's bytes in view.
struct decompressed_stream::inflation {
  inflation(compression format, const decompressed_stream_options& o, std::size_t headroom)
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
    yields_next = false;
  }

  inflater decoder;
  const std::size_t chunk_size;
  chunk_pool* const pool;
  stream_window view;
  std::size_t unused = 0;  // bytes at the end of the source's view
  bool source_ended = false;
  bool yields_next = false;  // before anything else is inflated
};

decompressed_stream::decompressed_stream(file& f, const decompressed_stream_options& options,
                                         std::size_t headroom)
    : file_(f),
      options_(options),
      headroom_(headroom),
      source_(f, options.read, headroom),
      type_(options.compression_type) {
  if (type_) start_inflating(*type_);
}

decompressed_stream::~decompressed_stream() = default;

const stream_window& decompressed_stream::view() const noexcept {
  return inflation_ ? inflation_->view : source_.view();
}

void decompressed_stream::start_inflating(compression type) {
  if (type == compression::none) return;
  inflation_ = std::make_unique<inflation>(type, options_, headroom_);
}

// Detects the compression of the file from its first bytes.
task<bool> decompressed_stream::begin(std::source_location where) {
  bool more = true;
  const stream_window& first = source_.view();
  while (more && !can_detect({first.data(), first.size()})) {
    more = co_await source_.advance(first.size(), where);
  }
  const compression found = options_.detect({first.data(), first.size()});
  start_inflating(found);
  type_ = found;  // last: without memory for the inflater, the next call detects it again
  if (!inflation_) co_return first.size() > 0;
  inflation_->unused = first.size();
  inflation_->source_ended = !more;
  co_return co_await inflate(0, 0, where);
}

// Inflates all bytes of the file in view before it waits for more, so that no work is half done
// during the wait.
task<bool> decompressed_stream::inflate(std::size_t carried, std::uint64_t needed,
                                        std::source_location where) {
  inflation& i = *inflation_;
  const stream_window::request d{.carried = carried, .needed = needed, .certain = false};
  for (;;) {
    if (i.yields_next) {
      co_await yield_turn(file_.path() + ": read");
      i.yields_next = false;
    }
    if (inflate_some(d)) co_return true;
    if (i.yields_next) continue;
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

// Returns true if that has brought bytes into view.
bool decompressed_stream::inflate_some(const stream_window::request& d) {
  inflation& i = *inflation_;
  if (fault_) return false;
  stream_window::free_space room = i.view.reserve(*i.pool, d, i.chunk_size);
  const stream_window& source = source_.view();
  inflate_result r;
  std::size_t produced = 0;
  do {
    const byte_view in(source.data() + (source.size() - i.unused),
                       std::min(i.unused, max_bytes_per_turn));
    r = i.decoder.inflate(in, {room.at + produced, room.size - produced});
    i.unused -= r.consumed;
    produced += r.produced;
    i.yields_next =
        r.consumed == max_bytes_per_turn && r.produced < max_bytes_per_turn / least_ratio_inverse;
  } while (r.status == inflate_status::need_input && i.unused > 0 && !i.yields_next);
  if (produced > 0) {
    i.view.slide(*i.pool, std::move(room), d, produced);
    return true;
  }
  // A file of 0 bytes is empty with any compression.
  const bool is_empty = i.source_ended && i.decoder.bytes_consumed() == 0;
  if (r.failed() || (!i.yields_next && i.source_ended && !is_empty)) end_stream(r);
  return false;
}

// Ends with the failure `r`, or because the source has ended.
void decompressed_stream::end_stream(const inflate_result& r) {
  const inflate_result end = r.failed() ? r : inflation_->decoder.finish();
  if (!end.failed()) return;
  record_corruption found;
  found.reason = code_of(end.status);
  found.what = describe(end);
  if (end.status == inflate_status::truncated && options_.tolerate_truncation) {
    found.what += " at offset " + std::to_string(end.offset) + " of the file, which is tolerated";
    truncation_ = std::move(found);
  } else {
    fault_ = std::move(found);
  }
}

std::uint64_t decompressed_stream::seek(std::uint64_t offset) {
  if (can_seek_directly()) {
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
                  file_.path() + ": stream cannot seek: read it once from its beginning");
  }
  source_.seek(0);
  if (inflation_) inflation_->restart();
  fault_.reset();
  truncation_.reset();
  return 0;
}

}  // namespace leat::detail
