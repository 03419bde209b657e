#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "leat/base/bytes.hpp"
#include "leat/base/detail/pimpl.hpp"
#include "leat/base/error.hpp"
#include "leat/codec/compression/compression.hpp"

namespace leat {

/// How a call of an inflater ended.
enum class inflate_status : std::uint8_t {
  need_input,      ///< the input is used up: pass the bytes that follow it, or finish()
  output_full,     ///< the output is full: call again with more room
  complete,        ///< from finish(): the stream is whole, and its checksums are right
  truncated,       ///< from finish(): the stream is cut off
  bad_header,      ///< not a stream of this compression, or its header is corrupt
  dictionary,      ///< the stream needs a dictionary, which a file does not bring along
  bad_data,        ///< the compressed data is corrupt
  bad_checksum,    ///< the data is not what was compressed
  bad_size,        ///< gzip: the data has another size than what was compressed
  trailing_data,   ///< bytes that are not a stream follow the end
  too_large,       ///< more output than inflate_options::max_output
  too_dense,       ///< more output for its input than inflate_options::max_ratio
  too_many_empty,  ///< more members in a row without output than inflate_options::max_empty_members
};

/// What a call of an inflater did.
struct inflate_result {
  inflate_status status = inflate_status::need_input;
  std::size_t consumed = 0;    ///< bytes of the input that it has taken
  std::size_t produced = 0;    ///< bytes of the output that it has written; before an error too
  std::uint64_t offset = 0;    ///< where in the compressed stream it ended, or the error is
  std::uint32_t expected = 0;  ///< bad_checksum, bad_size: as stored
  std::uint32_t actual = 0;    ///< of the data

  /// True when the stream cannot be read on.
  [[nodiscard]] bool failed() const noexcept { return status > inflate_status::complete; }
};

/// Why it failed, for a message: "the checksum of the inflated data is wrong: expected 0x..., ...".
[[nodiscard]] std::string describe(const inflate_result& result);

/// The code for that message: data_loss, resource_exhausted for a limit, unimplemented for a
/// dictionary.
[[nodiscard]] errc code_of(inflate_status status) noexcept;

/// How far a stream is followed.
///
/// Memory stays bounded without limits: these are for who would read for hours what was made in a
/// second. Deflate compresses 1032 times at most, and only what is nearly all the same byte; data
/// that has something to say stays far below the default ratio, and few files are as large as the
/// default size, with which the ratio lets only files of 4 GiB and more come that far.
struct inflate_options {
  std::uint64_t max_output = std::uint64_t{1} << 40;  ///< bytes, over all members
  std::uint64_t max_ratio = 256;                      ///< output to input, both from the beginning
  std::uint64_t free_output = std::uint64_t{16} << 20;  ///< bytes from which max_ratio holds
  /// gzip: consecutive members without output. A tool that concatenates files writes a few of them;
  /// a file of nothing else costs much time and yields nothing.
  std::uint64_t max_empty_members = 65536;
};

/// Inflates a zlib or gzip stream that comes in pieces.
///
/// Of gzip all members are read, with zeros between and behind them as tapes and `gzip -d` have
/// it. Every checksum and size is checked when its member ends: until then nobody knows whether
/// the bytes given are right.
///
///     leat::inflater inflater(leat::compression::gzip);
///     auto r = inflater.inflate(input, output);   // again and again
///     if (r.failed()) {
///       throw leat::failure(leat::code_of(r.status), path + ": " + leat::describe(r));
///     }
///     ...
///     r = inflater.finish();                      // the input has ended
///
/// Thread safety: thread-compatible.
/// Cost: about 85 KiB, taken once. Speed as ISA-L's; rooms of 256 KiB and more are best, since the
///       first 32 KiB of each are copied.
/// Reference: RFC 1950, 1951, 1952. Unlike TensorFlow's ZlibInputStream, it reads all members, and
///            a truncated stream is always an error.
class inflater {
 public:
  /// Errors: invalid_argument for compression::none or a limit of 0.
  explicit inflater(compression format, const inflate_options& options = {});
  inflater(inflater&&) noexcept;
  inflater& operator=(inflater&&) noexcept;
  ~inflater();

  /// Inflates from `in` to `out` until either is used up: with input left over the output is full.
  /// After a failure every call gives that again.
  inflate_result inflate(byte_view in, std::span<std::byte> out) noexcept;

  /// Says whether the stream may end here: complete or truncated, or the failure that there was.
  /// Only after need_input: else there may be output left.
  [[nodiscard]] inflate_result finish() const noexcept;

  /// Begins a new stream with the same limits.
  void reset(compression format);
  void reset() noexcept;

  /// What it was made, or reset, for.
  [[nodiscard]] compression format() const noexcept;
  /// Bytes of the compressed stream so far, and of the inflated one; whole gzip members.
  [[nodiscard]] std::uint64_t bytes_consumed() const noexcept;
  [[nodiscard]] std::uint64_t bytes_produced() const noexcept;
  [[nodiscard]] std::uint64_t members() const noexcept;

 private:
  struct state;
  // Not of one that was moved from.
  [[nodiscard]] state& self() const noexcept;

  detail::pimpl<state> state_;
};

}  // namespace leat
