#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "leat/base/bytes.hpp"
#include "leat/base/error.hpp"
#include "leat/codec/compression/compression.hpp"

namespace LEAT {

/// The status in which a call of a decompressor ended.
enum class decompression_status : std::uint8_t {
  need_input,      ///< the input is consumed: pass the bytes that follow it, or finish()
  output_full,     ///< the output is full: call again with another output
  complete,        ///< from finish(): the stream is complete, and its checksums match
  truncated,       ///< from finish(): the stream is truncated
  bad_header,      ///< not a stream of this compression, or its header is corrupt
  dictionary,      ///< the stream needs a dictionary, which a file does not contain
  bad_data,        ///< the compressed data is corrupt
  bad_checksum,    ///< the data differs from what was compressed
  bad_size,        ///< the size of the data differs from what was compressed
  trailing_data,   ///< bytes that are not a stream follow the end
  too_large,       ///< more output than decompression_options::max_output
  too_dense,       ///< more output for its input than decompression_options::max_ratio
  too_many_empty,  ///< more consecutive empty members than decompression_options::max_empty_members
};

/// The result of a call of a decompressor.
struct decompression_result {
  /// The status in which the call ended.
  decompression_status status = decompression_status::need_input;
  std::size_t consumed = 0;    ///< bytes of the input that it has consumed
  std::size_t produced = 0;    ///< bytes written to the output, also before an error
  std::uint64_t offset = 0;    ///< end of the call, or the error, in the compressed stream
  std::uint32_t expected = 0;  ///< bad_checksum, bad_size: the stored value
  std::uint32_t actual = 0;    ///< bad_checksum, bad_size: the value of the data

  /// Returns true if the rest of the stream cannot be read.
  [[nodiscard]] bool failed() const noexcept { return status > decompression_status::complete; }
};

/// Returns the reason of a failure for a message, such as "checksum of the decompressed data
/// is wrong: expected 0x..., ...".
[[nodiscard]] std::string describe(const decompression_result& result);

/// Returns the error code of a failure: data_loss, resource_exhausted for a limit, or unimplemented
/// for a dictionary.
[[nodiscard]] errc code_of(decompression_status status) noexcept;

/// Options of a decompressor: limits of its output.
///
/// Memory stays bounded without these limits. They reject a decompression bomb, which is made in a
/// second and takes hours to read. Deflate compresses by a factor of at most 1032, and only data
/// that consists almost entirely of one byte value. Meaningful data stays far below the default
/// `max_ratio`. Few files are as large as the default `max_output`. With the default ratio, only
/// files of 4 GiB and more can reach it.
struct decompression_options {
  std::uint64_t max_output = std::uint64_t{1} << 40;  ///< bytes, over all members
  std::uint64_t max_ratio = 256;                      ///< output to input, both from the beginning
  std::uint64_t free_output = std::uint64_t{16} << 20;  ///< bytes from which max_ratio applies
  /// Consecutive members without output. A tool that concatenates files may write a few of
  /// them; a file of nothing else takes much time and yields nothing.
  std::uint64_t max_empty_members = 65536;

  /// Checks that no limit is 0, except free_output.
  /// Errors: invalid_argument; the message begins with `owner` and names the limit.
  void check(std::string_view owner) const;
};

/// The interface to a decompressor of a stream that arrives in pieces.
///
///     auto decoder = leat::make_decompressor(leat::compression::gzip);
///     auto r = decoder->decompress(input, output);   // again and again
///     if (r.failed()) {
///       throw leat::failure(leat::code_of(r.status), path + ": " + leat::describe(r));
///     }
///     ...
///     r = decoder->finish();                         // the input has ended
///
/// All members of a gzip stream are read. Zeros between and after members are allowed, as on tapes
/// and by `gzip -d`. Every checksum and size is checked at the end of its member. Until then, the
/// output may be wrong.
///
/// Thread safety: thread-compatible.
/// Cost:          zlib and gzip: about 85 KiB, allocated once. As fast as ISA-L; outputs of 256 KiB
///                and more are best, because the first 32 KiB of each are copied.
/// Reference:     RFC 1950, 1951, 1952. Unlike TensorFlow's ZlibInputStream, it reads all members,
///                and a truncated stream is always an error.
class decompressor {
 public:
  decompressor(const decompressor&) = delete;
  decompressor& operator=(const decompressor&) = delete;
  virtual ~decompressor() = default;

  /// Decompresses from `in` to `out` until the input is consumed or the output is full. If input is
  /// left, the output is full. After a failure, every call returns the same failure.
  virtual decompression_result decompress(byte_view in, std::span<std::byte> out) noexcept = 0;

  /// Checks whether the stream may end here. Returns complete, truncated, or the failure that has
  /// occurred. Call it only after need_input, because otherwise some output may be left.
  [[nodiscard]] virtual decompression_result finish() const noexcept = 0;

  /// Starts a new stream of the same format with the same limits.
  virtual void restart() noexcept = 0;

  /// Returns the number of bytes of the compressed stream so far.
  [[nodiscard]] std::uint64_t bytes_consumed() const noexcept { return consumed_; }
  /// Returns the number of bytes of output so far.
  [[nodiscard]] std::uint64_t bytes_produced() const noexcept { return produced_; }
  /// Returns the number of complete members so far.
  [[nodiscard]] std::uint64_t members() const noexcept { return members_; }

 protected:
  decompressor() = default;

  std::uint64_t consumed_ = 0;
  std::uint64_t produced_ = 0;
  std::uint64_t members_ = 0;
};

/// Creates a decompressor for one stream.
/// Errors: invalid_argument for compression::none or a limit of 0; std::bad_alloc.
[[nodiscard]] std::unique_ptr<decompressor> make_decompressor(
    compression format, const decompression_options& options = {});

}  // namespace LEAT
