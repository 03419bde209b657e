#include "leat/io/stream/internal/decompressed_stream.hpp"

#include <algorithm>
#include <memory>
#include <string>
#include <utility>

#include "leat/async/internal/yield_turn.hpp"
#include "leat/base/error.hpp"

namespace LEAT::detail {
namespace {

// A compressed stream has two views: that of source_, of the compressed bytes, and decoding::view,
// of the decompressed ones. The last `unused` bytes of the first one are not decompressed yet. Once
// the decoding has begun, source_ is advanced only when there are none, so it carries no bytes.

// Enough to detect the compression of nearly all files.
constexpr std::size_t beginning_size = 12;

// Compressed bytes that are decompressed at a time. Larger pieces with little output would block
// the other tasks of the scheduler.
constexpr std::size_t max_bytes_per_turn = std::size_t{128} << 10;
constexpr std::size_t least_ratio_inverse = 8;

// Returns false while more bytes can change the result of options.detect(). It does not wait for
// bytes that cannot change it, because the rest of a pipe may come late.
bool can_detect(byte_view beginning) {
  if (needs_larger_sample(beginning)) return false;
  return beginning.size() >= beginning_size || detect_compression(beginning) == compression::none;
}

}  // namespace

void check(const decompressed_stream_options& options, std::string_view owner) {
  check(options.read, owner);
  options.decompression.check(owner);
}

// The decompressed bytes, and the used part of the file's bytes in view.
struct decompressed_stream::decoding {
  decoding(compression format, const decompressed_stream_options& o, std::size_t headroom)
      : decoder(make_decompressor(format, o.decompression)),
        chunk_size(o.read.chunk_size),
        pool(chunk_pool::make(decompressed_chunks, headroom, chunk_size)) {}
  decoding(const decoding&) = delete;
  decoding& operator=(const decoding&) = delete;
  ~decoding() {
    // Returns the chunk in view. Batches may keep others, and with them the pool.
    view.restart(0);
    pool->close();
  }

  void restart() noexcept {
    decoder->restart();
    view.restart(0);
    unused = 0;
    source_ended = false;
    yields_next = false;
  }

  const std::unique_ptr<decompressor> decoder;
  const std::size_t chunk_size;
  chunk_pool* const pool;
  stream_window view;
  std::size_t unused = 0;  // bytes at the end of the source's view
  bool source_ended = false;
  bool yields_next = false;  // before anything else is decompressed
};

decompressed_stream::decompressed_stream(file& f, const decompressed_stream_options& options,
                                         std::size_t headroom)
    : file_(f),
      options_(options),
      headroom_(headroom),
      source_(f, options.read, headroom),
      type_(options.compression) {
  if (type_) start_decoding(*type_);
}

decompressed_stream::~decompressed_stream() = default;

const stream_window& decompressed_stream::view() const noexcept {
  return decoding_ ? decoding_->view : source_.view();
}

void decompressed_stream::start_decoding(compression type) {
  if (type == compression::none) return;
  decoding_ = std::make_unique<decoding>(type, options_, headroom_);
}

// Detects the compression of the file from its first bytes.
task<bool> decompressed_stream::begin(std::source_location where) {
  bool more = true;
  const stream_window& first = source_.view();
  while (more && !can_detect({first.data(), first.size()})) {
    more = co_await source_.advance(first.size(), where);
  }
  const compression found = options_.detect({first.data(), first.size()});
  start_decoding(found);
  type_ = found;  // last: without memory for the decompressor, the next call detects it again
  if (!decoding_) co_return first.size() > 0;
  decoding_->unused = first.size();
  decoding_->source_ended = !more;
  co_return co_await decompress(0, 0, where);
}

// Decompresses all bytes of the file in view before it waits for more, so that no work is half done
// during the wait.
task<bool> decompressed_stream::decompress(std::size_t carried, std::uint64_t needed,
                                           std::source_location where) {
  decoding& i = *decoding_;
  const stream_window::request d{.carried = carried, .needed = needed, .certain = false};
  for (;;) {
    if (i.yields_next) {
      co_await yield_turn(file_.path() + ": read");
      i.yields_next = false;
    }
    if (decompress_some(d)) co_return true;
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
bool decompressed_stream::decompress_some(const stream_window::request& d) {
  decoding& i = *decoding_;
  if (fault_) return false;
  stream_window::free_space room = i.view.reserve(*i.pool, d, i.chunk_size);
  const stream_window& source = source_.view();
  decompression_result r;
  std::size_t produced = 0;
  do {
    const byte_view in(source.data() + (source.size() - i.unused),
                       std::min(i.unused, max_bytes_per_turn));
    r = i.decoder->decompress(in, {room.at + produced, room.size - produced});
    i.unused -= r.consumed;
    produced += r.produced;
    i.yields_next =
        r.consumed == max_bytes_per_turn && r.produced < max_bytes_per_turn / least_ratio_inverse;
  } while (r.status == decompression_status::need_input && i.unused > 0 && !i.yields_next);
  if (produced > 0) {
    i.view.slide(*i.pool, std::move(room), d, produced);
    return true;
  }
  // A file of 0 bytes is empty with any compression.
  const bool is_empty = i.source_ended && i.decoder->bytes_consumed() == 0;
  if (r.failed() || (!i.yields_next && i.source_ended && !is_empty)) end_stream(r);
  return false;
}

// Ends with the failure `r`, or because the source has ended.
void decompressed_stream::end_stream(const decompression_result& r) {
  const decompression_result end = r.failed() ? r : decoding_->decoder->finish();
  if (!end.failed()) return;
  record_corruption found;
  found.reason = code_of(end.status);
  found.what = describe(end);
  if (end.status == decompression_status::truncated && options_.tolerate_truncation) {
    found.what += " at offset " + std::to_string(end.offset) + " of the file, which is tolerated";
    truncation_ = std::move(found);
  } else {
    fault_ = std::move(found);
  }
}

std::uint64_t decompressed_stream::seek(std::uint64_t offset) {
  // A file that is not compressed and has a size.
  if (can_seek_directly()) {
    const std::uint64_t there = std::min(offset, size());
    source_.seek(there);
    return there;
  }
  // Forwards: the caller skips the bytes up to the offset as they are decompressed.
  if (decoding_ && offset >= decoding_->view.end()) {
    decoding_->view.restart(decoding_->view.end());
    return decoding_->view.end();
  }
  // In all other cases the file is read again from its beginning.
  if (view().end() == 0) return 0;
  if (file_.status().is_stream) {
    throw failure(errc::unimplemented,
                  file_.path() + ": stream cannot seek: read it once from its beginning");
  }
  source_.seek(0);
  if (decoding_) decoding_->restart();
  fault_.reset();
  truncation_.reset();
  return 0;
}

}  // namespace LEAT::detail
