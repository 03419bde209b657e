#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "leat/base/bytes.hpp"
#include "leat/base/error.hpp"
#include "leat/base/internal/pimpl.hpp"
#include "leat/codec/compression/compression.hpp"

namespace leat {

/// The status in which a call of an inflater ended.
enum class inflate_status : std::uint8_t {
  need_input,      ///< the input is consumed: pass the bytes that follow it, or finish()
  output_full,     ///< the output is full: call again with another output
  complete,        ///< from finish(): the stream is complete, and its checksums match
  truncated,       ///< from finish(): the stream is truncated
  bad_header,      ///< not a stream of this compression, or its header is corrupt
  dictionary,      ///< the stream needs a dictionary, which a file does not contain
  bad_data,        ///< the compressed data is corrupt
  bad_checksum,    ///< the data differs from what was compressed
  bad_size,        ///< gzip: the size of the data differs from what was compressed
  trailing_data,   ///< bytes that are not a stream follow the end
  too_large,       ///< more output than inflate_options::max_output
  too_dense,       ///< more output for its input than inflate_options::max_ratio
  too_many_empty,  ///< more consecutive empty members than inflate_options::max_empty_members
};

/// The result of a call of an inflater.
struct inflate_result {
  /// The status in which the call ended.
  inflate_status status = inflate_status::need_input;
  std::size_t consumed = 0;    ///< bytes of the input that it has consumed
  std::size_t produced = 0;    ///< bytes written to the output, also before an error
  std::uint64_t offset = 0;    ///< end of the call, or the error, in the compressed stream
  std::uint32_t expected = 0;  ///< bad_checksum, bad_size: the stored value
  std::uint32_t actual = 0;    ///< bad_checksum, bad_size: the value of the data

  /// Returns true if the rest of the stream cannot be read.
  [[nodiscard]] bool failed() const noexcept { return status > inflate_status::complete; }
};

/// Returns the reason of a failure for a message, such as "the checksum of the inflated data is
/// wrong: expected 0x..., ...".
[[nodiscard]] std::string describe(const inflate_result& result);

/// Returns the error code of a failure: data_loss, resource_exhausted for a limit, or unimplemented
/// for a dictionary.
[[nodiscard]] errc code_of(inflate_status status) noexcept;

/// Limits of an inflater.
///
/// Memory stays bounded without these limits. They reject a decompression bomb, which is made in a
/// second and takes hours to read. Deflate compresses by a factor of at most 1032, and only data
/// that consists almost entirely of one byte value. Meaningful data stays far below the default
/// `max_ratio`. Few files are as large as the default `max_output`. With the default ratio, only
/// files of 4 GiB and more can reach it.
struct inflate_options {
  std::uint64_t max_output = std::uint64_t{1} << 40;  ///< bytes, over all members
  std::uint64_t max_ratio = 256;                      ///< output to input, both from the beginning
  std::uint64_t free_output = std::uint64_t{16} << 20;  ///< bytes from which max_ratio applies
  /// gzip: consecutive members without output. A tool that concatenates files may write a few of
  /// them; a file of nothing else takes much time and yields nothing.
  std::uint64_t max_empty_members = 65536;
};

/// A decompressor of a zlib or gzip stream that arrives in pieces.
///
///     leat::inflater inflater(leat::compression::gzip);
///     auto r = inflater.inflate(input, output);   // again and again
///     if (r.failed()) {
///       throw leat::failure(leat::code_of(r.status), path + ": " + leat::describe(r));
///     }
///     ...
///     r = inflater.finish();                      // the input has ended
///
/// All members of a gzip stream are read. Zeros between and after members are allowed, as on tapes
/// and by `gzip -d`. Every checksum and size is checked at the end of its member. Until then, the
/// inflated bytes may be wrong.
///
/// Thread safety: thread-compatible.
/// Cost:          about 85 KiB, allocated once. As fast as ISA-L; outputs of 256 KiB and more are
///                best, because the first 32 KiB of each are copied.
/// Reference:     RFC 1950, 1951, 1952. Unlike TensorFlow's ZlibInputStream, it reads all members,
///                and a truncated stream is always an error.
class inflater {
 public:
  /// Creates an inflater for one stream.
  /// Errors: invalid_argument for compression::none or a limit of 0.
  explicit inflater(compression format, const inflate_options& options = {});
  inflater(inflater&&) noexcept;
  inflater& operator=(inflater&&) noexcept;
  ~inflater();

  /// Inflates from `in` to `out` until the input is consumed or the output is full. If input is
  /// left, the output is full. After a failure, every call returns the same failure.
  inflate_result inflate(byte_view in, std::span<std::byte> out) noexcept;

  /// Checks whether the stream may end here. Returns complete, truncated, or the failure that has
  /// occurred. Call it only after need_input, because otherwise some output may be left.
  [[nodiscard]] inflate_result finish() const noexcept;

  /// Starts a new stream with the same limits.
  /// Errors: invalid_argument for compression::none.
  void reset(compression format);
  void reset() noexcept;

  /// Returns the format for which it was created or reset.
  [[nodiscard]] compression format() const noexcept;
  /// Returns the number of bytes of the compressed stream so far.
  [[nodiscard]] std::uint64_t bytes_consumed() const noexcept;
  /// Returns the number of inflated bytes so far.
  [[nodiscard]] std::uint64_t bytes_produced() const noexcept;
  /// Returns the number of complete gzip members so far.
  [[nodiscard]] std::uint64_t members() const noexcept;

 private:
  struct state;
  // Not of one that was moved from.
  [[nodiscard]] state& self() const noexcept;

  detail::pimpl<state> state_;
};

}  // namespace leat
