#include "leat/codec/compression/deflater.hpp"

#include <algorithm>
#include <new>
#include <string>
#include <string_view>

#include <zlib.h>

#include "leat/base/error.hpp"
#include "leat/base/internal/assert.hpp"

namespace LEAT {
namespace {

// zlib counts its input and output in 32 bits.
constexpr std::size_t largest_span = std::size_t{1} << 30;

constexpr int gzip_header = 16;  // added to the window bits

int to_zlib_strategy(deflate_strategy s) noexcept {
  switch (s) {
    case deflate_strategy::standard: return Z_DEFAULT_STRATEGY;
    case deflate_strategy::filtered: return Z_FILTERED;
    case deflate_strategy::huffman_only: return Z_HUFFMAN_ONLY;
    case deflate_strategy::run_length: return Z_RLE;
    case deflate_strategy::fixed: return Z_FIXED;
  }
  return Z_DEFAULT_STRATEGY;
}

int to_zlib_flush(deflate_flush f) noexcept {
  switch (f) {
    case deflate_flush::none: return Z_NO_FLUSH;
    case deflate_flush::sync: return Z_SYNC_FLUSH;
    case deflate_flush::full: return Z_FULL_FLUSH;
    case deflate_flush::finish: return Z_FINISH;
  }
  return Z_NO_FLUSH;
}

void check(int value, int least, int most, std::string_view option) {
  if (value >= least && value <= most) return;
  throw failure(errc::invalid_argument, "deflate_options::" + std::string(option) + " is " +
                                            std::to_string(value) + ", must be " +
                                            std::to_string(least) + " to " + std::to_string(most));
}

void check_options(compression format, const deflate_options& options) {
  if (format != compression::zlib && format != compression::gzip) {
    throw failure(errc::invalid_argument,
                  "deflater: format must be compression::zlib or compression::gzip");
  }
  check(options.level, -1, 9, "level");
  check(options.window_bits, 9, 15, "window_bits");
  check(options.mem_level, 1, 9, "mem_level");
  check(static_cast<int>(options.strategy), 0, static_cast<int>(deflate_strategy::fixed),
        "strategy");
}

}  // namespace

// zlib's state points back to this object, so it must not move.
struct deflater::state {
  state(compression format, const deflate_options& o) {
    const int header = format == compression::gzip ? gzip_header : 0;
    const int result = ::deflateInit2(&stream, o.level, Z_DEFLATED, o.window_bits + header,
                                      o.mem_level, to_zlib_strategy(o.strategy));
    if (result == Z_MEM_ERROR) throw std::bad_alloc();
    LEAT_ASSERT(result == Z_OK, "deflateInit2() of zlib failed with valid options");
  }
  state(const state&) = delete;
  state& operator=(const state&) = delete;
  ~state() { ::deflateEnd(&stream); }

  z_stream stream{};
  bool finished = false;
  std::uint64_t consumed = 0;
  std::uint64_t produced = 0;
};

deflater::deflater(compression format, const deflate_options& options) {
  check_options(format, options);
  state_ = std::make_unique<state>(format, options);
}

deflater::deflater(deflater&&) noexcept = default;
deflater& deflater::operator=(deflater&&) noexcept = default;
deflater::~deflater() = default;

deflater::state& deflater::self() const noexcept {
  LEAT_ASSERT(state_, "deflater was moved from: use the deflater that it was moved to");
  return *state_;
}

deflate_result deflater::deflate(byte_view in, std::span<std::byte> out,
                                 deflate_flush flush) noexcept {
  state& s = self();
  LEAT_ASSERT(out.size() >= smallest_output,
              "deflater: the output must have at least smallest_output bytes");
  if (s.finished) {
    LEAT_ASSERT(in.empty(),
                "deflater: input after the end of the stream: call reset() to start a new one");
    return {.done = true};
  }
  const byte_view part = in.first(std::min(in.size(), largest_span));
  const bool is_last = part.size() == in.size();
  const auto room = static_cast<uInt>(std::min(out.size(), largest_span));
  // zlib does not change its input.
  s.stream.next_in = reinterpret_cast<Bytef*>(const_cast<std::byte*>(part.data()));
  s.stream.avail_in = static_cast<uInt>(part.size());
  s.stream.next_out = reinterpret_cast<Bytef*>(out.data());
  s.stream.avail_out = room;
  const int result = ::deflate(&s.stream, is_last ? to_zlib_flush(flush) : Z_NO_FLUSH);
  LEAT_ASSERT(result != Z_STREAM_ERROR, "deflate() of zlib reported an invalid state");
  s.finished = result == Z_STREAM_END;
  deflate_result r;
  r.consumed = part.size() - s.stream.avail_in;
  r.produced = room - s.stream.avail_out;
  // zlib reports a complete flush by leaving some of the output unused.
  r.done = is_last && (flush == deflate_flush::finish ? s.finished : s.stream.avail_out > 0);
  s.consumed += r.consumed;
  s.produced += r.produced;
  return r;
}

void deflater::reset() noexcept {
  state& s = self();
  ::deflateReset(&s.stream);
  s.finished = false;
  s.consumed = s.produced = 0;
}

std::uint64_t deflater::bytes_consumed() const noexcept { return self().consumed; }
std::uint64_t deflater::bytes_produced() const noexcept { return self().produced; }

}  // namespace LEAT
