#include "leat/codec/compression/inflater.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <utility>

#include "codec/compression/deflate_header.hpp"
#include "codec/compression/inflate_limits.hpp"
#include "codec/compression/raw_inflater.hpp"
#include "leat/base/internal/assert.hpp"

namespace leat {
namespace {

constexpr std::size_t gzip_trailer_size = 8;  // CRC-32 and size, little-endian
constexpr std::size_t zlib_trailer_size = 4;  // Adler-32, big-endian

std::uint32_t swapped(std::uint32_t v) noexcept { return __builtin_bswap32(v); }

std::string expected_and_actual(const inflate_result& r) {
  char text[64];
  std::snprintf(text, sizeof text, ": expected 0x%08x, actual 0x%08x", r.expected, r.actual);
  return text;
}

}  // namespace

std::string describe(const inflate_result& r) {
  switch (r.status) {
    case inflate_status::need_input: return "more input is needed";
    case inflate_status::output_full: return "output is full";
    case inflate_status::complete: return "compressed stream is complete";
    case inflate_status::truncated: return "compressed stream is truncated";
    case inflate_status::bad_header:
      return "header of the compressed stream is corrupt, or of another compression";
    case inflate_status::dictionary:
      return "compressed stream needs a dictionary, which is not supported";
    case inflate_status::bad_data: return "compressed data is corrupt";
    case inflate_status::bad_checksum:
      return "checksum of the inflated data is wrong" + expected_and_actual(r);
    case inflate_status::bad_size:
      return "size of the inflated data (modulo 2^32) is wrong: expected " +
             std::to_string(r.expected) + ", actual " + std::to_string(r.actual);
    case inflate_status::trailing_data:
      return "other data follows the end of the compressed stream";
    case inflate_status::too_large:
      return "inflated data is above the limit inflate_options::max_output";
    case inflate_status::too_dense:
      return "inflated data is more than inflate_options::max_ratio times as large as the "
             "compressed data";
    case inflate_status::too_many_empty:
      return "number of consecutive gzip members without data is above the limit "
             "inflate_options::max_empty_members";
  }
  return "?";
}

errc code_of(inflate_status end) noexcept {
  switch (end) {
    case inflate_status::too_large:
    case inflate_status::too_dense:
    case inflate_status::too_many_empty: return errc::resource_exhausted;
    case inflate_status::dictionary: return errc::unimplemented;
    default: return errc::data_loss;
  }
}

struct inflater::state {
  explicit state(const inflate_options& o) noexcept : options(o) {}

  void begin(compression f) noexcept;
  inflate_result run(byte_view in, std::span<std::byte> out) noexcept;

  // The part of the stream that the next byte belongs to.
  enum class part : std::uint8_t { header, body, trailer, between };

  // The arguments of run() and its result.
  struct call {
    byte_view in;
    std::span<std::byte> out;
    inflate_result result;
  };

  // Each returns true if its part has ended, or false if the call has to end.
  bool run_header(call& c) noexcept;
  bool run_body(call& c) noexcept;
  bool run_trailer(call& c) noexcept;
  bool run_between(call& c) noexcept;

  bool take(call& c, std::byte& b) noexcept;
  bool end_call(call& c, inflate_status end, std::uint64_t offset) noexcept;
  bool check(call& c, inflate_status end, std::uint32_t expected, std::uint32_t actual) noexcept;
  [[nodiscard]] std::uint64_t output_limit(const call& c) const noexcept;

  inflate_options options;
  compression format = compression::gzip;
  part at = part::header;
  inflate_result failure;  // the first corruption; need_input if there is none
  std::uint64_t consumed = 0;
  std::uint64_t produced = 0;
  std::uint64_t members = 0;
  std::uint64_t empty_members = 0;  // consecutive empty members
  std::uint64_t member_begin = 0;   // compressed offset
  std::uint64_t member_output = 0;  // bytes of this member
  std::array<std::byte, gzip_trailer_size> trailer{};
  std::size_t trailer_size = 0;
  std::size_t held_taken = 0;  // bytes after the end that the engine has already read
  detail::deflate_header header;
  detail::raw_inflater engine;
};

void inflater::state::begin(compression f) noexcept {
  format = f;
  at = part::header;
  failure = {};
  consumed = produced = members = empty_members = member_begin = member_output = 0;
  header.begin(f);
  engine.forget();
  engine.forget_output();
  held_taken = 0;
}

inflate_result inflater::state::run(byte_view in, std::span<std::byte> out) noexcept {
  if (failure.failed()) return failure;
  call c{in, out, {}};
  for (bool more = true; more;) {
    switch (at) {
      case part::header: more = run_header(c); break;
      case part::body: more = run_body(c); break;
      case part::trailer: more = run_trailer(c); break;
      case part::between: more = run_between(c); break;
    }
  }
  c.result.consumed = in.size() - c.in.size();
  c.result.produced = out.size() - c.out.size();
  // The caller may use the buffer until the next call.
  if (c.result.produced == 0) engine.forget_output();
  if (c.result.failed()) {
    failure = c.result;
    failure.consumed = failure.produced = 0;
  }
  return c.result;
}

bool inflater::state::end_call(call& c, inflate_status end, std::uint64_t offset) noexcept {
  c.result.status = end;
  c.result.offset = offset;
  return false;
}

// Returns the next byte after the deflate stream.
bool inflater::state::take(call& c, std::byte& b) noexcept {
  const byte_view held = engine.after_end();
  if (held_taken < held.size()) {
    b = held[held_taken++];
  } else if (!c.in.empty()) {
    b = c.in.front();
    c.in = c.in.subspan(1);
  } else {
    return end_call(c, inflate_status::need_input, consumed);
  }
  ++consumed;
  return true;
}

bool inflater::state::run_header(call& c) noexcept {
  using status = detail::deflate_header::status;
  for (std::byte b; take(c, b);) {
    switch (header.feed(b)) {
      case status::more: break;
      case status::complete:
        engine.begin(format);
        held_taken = 0;
        member_output = 0;
        at = part::body;
        return true;
      case status::dictionary: return end_call(c, inflate_status::dictionary, member_begin);
      case status::bad: {
        const bool other = members > 0 && consumed - member_begin <= 2;  // no gzip at all
        return end_call(c, other ? inflate_status::trailing_data : inflate_status::bad_header,
                        member_begin);
      }
    }
  }
  return false;
}

// Returns the number of bytes that one run may output.
std::uint64_t inflater::state::output_limit(const call& c) const noexcept {
  return std::min<std::uint64_t>(std::min(c.out.size(), detail::raw_inflater::largest_span),
                                 options.max_output - produced);
}

bool inflater::state::run_body(call& c) noexcept {
  if (c.out.empty()) return end_call(c, inflate_status::output_full, consumed);
  // At the limit, one byte of a private buffer detects further output.
  std::byte beyond{};
  const auto allowed = static_cast<std::size_t>(output_limit(c));
  const bool at_limit = allowed == 0;
  const auto step = engine.run(c.in, at_limit ? std::span(&beyond, 1) : c.out.first(allowed));
  c.in = c.in.subspan(step.consumed);
  consumed += step.consumed;
  if (at_limit) engine.forget_output();
  if (at_limit && step.produced > 0) return end_call(c, inflate_status::too_large, consumed);
  c.out = c.out.subspan(step.produced);
  produced += step.produced;
  member_output += step.produced;
  if (step.bad) return end_call(c, inflate_status::bad_data, consumed - engine.unread());
  if (produced > options.free_output && produced / options.max_ratio > consumed) {
    return end_call(c, inflate_status::too_dense, consumed);
  }
  if (step.ended) {
    consumed -= engine.after_end().size();
    trailer_size = 0;
    at = part::trailer;
    return true;
  }
  if (c.out.empty()) return end_call(c, inflate_status::output_full, consumed);
  if (!at_limit && step.produced == allowed) return true;  // there may be more
  if (c.in.empty()) return end_call(c, inflate_status::need_input, consumed);
  // An engine that neither consumes nor outputs anything will not do so the next time.
  if (step.consumed + step.produced > 0) return true;
  return end_call(c, inflate_status::bad_data, consumed - engine.unread());
}

bool inflater::state::run_trailer(call& c) noexcept {
  const bool gzip = format == compression::gzip;
  const std::size_t size = gzip ? gzip_trailer_size : zlib_trailer_size;
  while (trailer_size < size) {
    if (!take(c, trailer[trailer_size])) return false;
    ++trailer_size;
  }
  const auto stored = load_little_endian<std::uint32_t>(trailer.data());
  if (!check(c, inflate_status::bad_checksum, gzip ? stored : swapped(stored), engine.checksum())) {
    return false;
  }
  if (gzip && !check(c, inflate_status::bad_size, load_little_endian<std::uint32_t>(&trailer[4]),
                     static_cast<std::uint32_t>(member_output))) {
    return false;
  }
  ++members;
  at = part::between;
  empty_members = member_output > 0 ? 0 : empty_members + 1;
  if (empty_members > options.max_empty_members) {
    return end_call(c, inflate_status::too_many_empty, member_begin);
  }
  return true;
}

bool inflater::state::check(call& c, inflate_status end, std::uint32_t expected,
                            std::uint32_t actual) noexcept {
  if (expected == actual) return true;
  c.result.expected = expected;
  c.result.actual = actual;
  return end_call(c, end, consumed - trailer_size);
}

// Zeros or another member follow gzip members.
bool inflater::state::run_between(call& c) noexcept {
  for (std::byte b; take(c, b);) {
    if (format == compression::zlib) {
      return end_call(c, inflate_status::trailing_data, consumed - 1);
    }
    if (b == std::byte{0}) continue;
    member_begin = consumed - 1;
    header.begin(format);
    if (header.feed(b) != detail::deflate_header::status::more) {
      return end_call(c, inflate_status::trailing_data, member_begin);
    }
    at = part::header;
    return true;
  }
  return false;
}

inflater::inflater(compression format, const inflate_options& options) {
  if (const char* const why = detail::zero_limit(options)) {
    throw failure(errc::invalid_argument, why);
  }
  state_ = std::make_unique<state>(options);
  reset(format);
}

inflater::inflater(inflater&&) noexcept = default;
inflater& inflater::operator=(inflater&&) noexcept = default;
inflater::~inflater() = default;

inflater::state& inflater::self() const noexcept {
  LEAT_ASSERT(state_, "inflater was moved from: use the inflater that it was moved to");
  return *state_;
}

inflate_result inflater::inflate(byte_view in, std::span<std::byte> out) noexcept {
  return self().run(in, out);
}

inflate_result inflater::finish() const noexcept {
  const state& s = self();
  if (s.failure.failed()) return s.failure;
  inflate_result r;
  r.status = s.at == state::part::between ? inflate_status::complete : inflate_status::truncated;
  r.offset = s.consumed;
  return r;
}

void inflater::reset(compression format) {
  if (format != compression::zlib && format != compression::gzip) {
    throw failure(errc::invalid_argument,
                  "inflater: format must be compression::zlib or compression::gzip");
  }
  self().begin(format);
}

void inflater::reset() noexcept {
  state& s = self();
  s.begin(s.format);
}

compression inflater::format() const noexcept { return self().format; }
std::uint64_t inflater::bytes_consumed() const noexcept { return self().consumed; }
std::uint64_t inflater::bytes_produced() const noexcept { return self().produced; }
std::uint64_t inflater::members() const noexcept { return self().members; }

}  // namespace leat
