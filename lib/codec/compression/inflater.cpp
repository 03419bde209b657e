#include "codec/compression/inflater.hpp"

#include <algorithm>
#include <array>

#include "codec/compression/deflate_header.hpp"
#include "codec/compression/raw_inflater.hpp"

namespace LEAT::detail {
namespace {

constexpr std::size_t gzip_trailer_size = 8;  // CRC-32 and size, little-endian
constexpr std::size_t zlib_trailer_size = 4;  // Adler-32, big-endian

std::uint32_t swapped(std::uint32_t v) noexcept { return __builtin_bswap32(v); }

// Decompresses zlib and gzip with ISA-L. A stream is header, body, trailer, and for gzip again from
// there: between the members there may be zeros. Each part keeps its state in members, so that a
// call may end after any byte.
class inflater final : public decompressor {
 public:
  inflater(compression format, const decompression_options& options) noexcept
      : options_(options), format_(format) {
    restart();
  }

  decompression_result decompress(byte_view in, std::span<std::byte> out) noexcept override;
  [[nodiscard]] decompression_result finish() const noexcept override;
  void restart() noexcept override;

 private:
  // The part of the stream that the next byte belongs to.
  enum class part : std::uint8_t { header, body, trailer, between };

  // The arguments of decompress() and its result.
  struct call {
    byte_view in;
    std::span<std::byte> out;
    decompression_result result;
  };

  // Each returns true if its part has ended, or false if the call has to end.
  bool run_header(call& c) noexcept;
  bool run_body(call& c) noexcept;
  bool run_trailer(call& c) noexcept;
  bool run_between(call& c) noexcept;

  bool take(call& c, std::byte& b) noexcept;
  bool end_call(call& c, decompression_status end, std::uint64_t offset) noexcept;
  bool check(call& c, decompression_status end, std::uint32_t expected,
             std::uint32_t actual) noexcept;
  [[nodiscard]] std::uint64_t output_limit(const call& c) const noexcept;

  const decompression_options options_;
  const compression format_;
  part at_ = part::header;
  decompression_result failure_;     // the first corruption; need_input if there is none
  std::uint64_t empty_members_ = 0;  // consecutive empty members
  std::uint64_t member_begin_ = 0;   // compressed offset
  std::uint64_t member_output_ = 0;  // bytes of this member
  std::array<std::byte, gzip_trailer_size> trailer_{};
  std::size_t trailer_size_ = 0;
  std::size_t held_taken_ = 0;  // bytes after the end that the engine has already read
  deflate_header header_;
  raw_inflater engine_;
};

void inflater::restart() noexcept {
  at_ = part::header;
  failure_ = {};
  consumed_ = produced_ = members_ = empty_members_ = member_begin_ = member_output_ = 0;
  header_.begin(format_);
  engine_.forget();
  engine_.forget_output();
  held_taken_ = 0;
}

decompression_result inflater::decompress(byte_view in, std::span<std::byte> out) noexcept {
  if (failure_.failed()) return failure_;
  call c{in, out, {}};
  for (bool more = true; more;) {
    switch (at_) {
      case part::header: more = run_header(c); break;
      case part::body: more = run_body(c); break;
      case part::trailer: more = run_trailer(c); break;
      case part::between: more = run_between(c); break;
    }
  }
  c.result.consumed = in.size() - c.in.size();
  c.result.produced = out.size() - c.out.size();
  // The caller may use the buffer until the next call.
  if (c.result.produced == 0) engine_.forget_output();
  if (c.result.failed()) {
    failure_ = c.result;
    failure_.consumed = failure_.produced = 0;
  }
  return c.result;
}

bool inflater::end_call(call& c, decompression_status end, std::uint64_t offset) noexcept {
  c.result.status = end;
  c.result.offset = offset;
  return false;
}

// Returns the next byte after the deflate stream.
bool inflater::take(call& c, std::byte& b) noexcept {
  const byte_view held = engine_.after_end();
  if (held_taken_ < held.size()) {
    b = held[held_taken_++];
  } else if (!c.in.empty()) {
    b = c.in.front();
    c.in = c.in.subspan(1);
  } else {
    return end_call(c, decompression_status::need_input, consumed_);
  }
  ++consumed_;
  return true;
}

bool inflater::run_header(call& c) noexcept {
  using status = deflate_header::status;
  for (std::byte b; take(c, b);) {
    switch (header_.feed(b)) {
      case status::more: break;
      case status::complete:
        engine_.begin(format_);
        held_taken_ = 0;
        member_output_ = 0;
        at_ = part::body;
        return true;
      case status::dictionary: return end_call(c, decompression_status::dictionary, member_begin_);
      case status::bad: {
        const bool other = members_ > 0 && consumed_ - member_begin_ <= 2;  // no gzip at all
        return end_call(
            c, other ? decompression_status::trailing_data : decompression_status::bad_header,
            member_begin_);
      }
    }
  }
  return false;
}

// Returns the number of bytes that one run may output.
std::uint64_t inflater::output_limit(const call& c) const noexcept {
  return std::min<std::uint64_t>(std::min(c.out.size(), raw_inflater::largest_span),
                                 options_.max_output - produced_);
}

bool inflater::run_body(call& c) noexcept {
  if (c.out.empty()) return end_call(c, decompression_status::output_full, consumed_);
  // At the limit, one byte of a private buffer detects further output.
  std::byte beyond{};
  const auto allowed = static_cast<std::size_t>(output_limit(c));
  const bool at_limit = allowed == 0;
  const auto step = engine_.run(c.in, at_limit ? std::span(&beyond, 1) : c.out.first(allowed));
  c.in = c.in.subspan(step.consumed);
  consumed_ += step.consumed;
  if (at_limit) engine_.forget_output();
  if (at_limit && step.produced > 0) return end_call(c, decompression_status::too_large, consumed_);
  c.out = c.out.subspan(step.produced);
  produced_ += step.produced;
  member_output_ += step.produced;
  if (step.bad) return end_call(c, decompression_status::bad_data, consumed_ - engine_.unread());
  if (produced_ > options_.free_output && produced_ / options_.max_ratio > consumed_) {
    return end_call(c, decompression_status::too_dense, consumed_);
  }
  if (step.ended) {
    // The engine may have consumed bytes after the end: take() returns them first.
    consumed_ -= engine_.after_end().size();
    trailer_size_ = 0;
    at_ = part::trailer;
    return true;
  }
  if (c.out.empty()) return end_call(c, decompression_status::output_full, consumed_);
  if (!at_limit && step.produced == allowed) return true;  // there may be more
  if (c.in.empty()) return end_call(c, decompression_status::need_input, consumed_);
  // An engine that neither consumes nor outputs anything will not do so the next time.
  if (step.consumed + step.produced > 0) return true;
  return end_call(c, decompression_status::bad_data, consumed_ - engine_.unread());
}

bool inflater::run_trailer(call& c) noexcept {
  const bool gzip = format_ == compression::gzip;
  const std::size_t size = gzip ? gzip_trailer_size : zlib_trailer_size;
  while (trailer_size_ < size) {
    if (!take(c, trailer_[trailer_size_])) return false;
    ++trailer_size_;
  }
  const auto stored = load_little_endian<std::uint32_t>(trailer_.data());
  if (!check(c, decompression_status::bad_checksum, gzip ? stored : swapped(stored),
             engine_.checksum())) {
    return false;
  }
  if (gzip &&
      !check(c, decompression_status::bad_size, load_little_endian<std::uint32_t>(&trailer_[4]),
             static_cast<std::uint32_t>(member_output_))) {
    return false;
  }
  ++members_;
  at_ = part::between;
  empty_members_ = member_output_ > 0 ? 0 : empty_members_ + 1;
  if (empty_members_ > options_.max_empty_members) {
    return end_call(c, decompression_status::too_many_empty, member_begin_);
  }
  return true;
}

bool inflater::check(call& c, decompression_status end, std::uint32_t expected,
                     std::uint32_t actual) noexcept {
  if (expected == actual) return true;
  c.result.expected = expected;
  c.result.actual = actual;
  return end_call(c, end, consumed_ - trailer_size_);
}

// Zeros or another member follow gzip members.
bool inflater::run_between(call& c) noexcept {
  for (std::byte b; take(c, b);) {
    if (format_ == compression::zlib) {
      return end_call(c, decompression_status::trailing_data, consumed_ - 1);
    }
    if (b == std::byte{0}) continue;
    member_begin_ = consumed_ - 1;
    header_.begin(format_);
    if (header_.feed(b) != deflate_header::status::more) {
      return end_call(c, decompression_status::trailing_data, member_begin_);
    }
    at_ = part::header;
    return true;
  }
  return false;
}

decompression_result inflater::finish() const noexcept {
  if (failure_.failed()) return failure_;
  using status = decompression_status;
  return {.status = at_ == part::between ? status::complete : status::truncated,
          .offset = consumed_};
}

// Returns true for a header without a dictionary, for a window of any size, and a block of a type
// that exists. Bytes that are missing fit.
bool may_be_zlib(byte_view bytes) noexcept {
  using status = deflate_header::status;
  deflate_header header;
  header.begin(compression::zlib);
  const auto is = [&](std::size_t i, status expected) {
    return bytes.size() <= i || header.feed(bytes[i]) == expected;
  };
  const bool block = bytes.size() <= 2 || (std::to_integer<unsigned>(bytes[2]) & 6U) != 6U;
  return is(0, status::more) && is(1, status::complete) && block;
}

// Inflates the first bytes of a possible zlib stream. Returns `truncated` if nothing contradicts
// it.
decompression_status try_to_inflate(byte_view in) {
  inflater trial(compression::zlib, {});
  std::array<std::byte, 1024> out;
  decompression_result r;
  do {
    r = trial.decompress(in, out);
    in = in.subspan(r.consumed);
  } while (r.status == decompression_status::output_full);
  return trial.finish().status;
}

}  // namespace

std::unique_ptr<decompressor> make_inflater(compression format,
                                            const decompression_options& options) {
  return std::make_unique<inflater>(format, options);
}

sample_match match_zlib(byte_view beginning) {
  constexpr std::byte usual_window{0x78};  // 32 KiB, which nearly all writers use
  if (!may_be_zlib(beginning)) return sample_match::no;
  if (beginning.size() < 3) return sample_match::incomplete;
  if (beginning[0] == usual_window) return sample_match::yes;
  const byte_view sample = beginning.first(std::min(beginning.size(), compression_sample_size));
  const decompression_status end = try_to_inflate(sample);
  if (end == decompression_status::complete) return sample_match::yes;
  if (end != decompression_status::truncated) return sample_match::no;
  // A stream as long as a sample may be incomplete.
  return sample.size() == compression_sample_size ? sample_match::yes : sample_match::incomplete;
}

}  // namespace LEAT::detail
