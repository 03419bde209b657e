#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "leat/base/bytes.hpp"
#include "leat/codec/tfrecord/tfrecord.hpp"

namespace LEAT {

/// A fingerprint of the file from which an index was built. It shows whether a file is still the
/// same.
struct tfrecord_fingerprint {
  std::uint64_t size = 0;        ///< bytes
  std::int64_t modified_ns = 0;  ///< time of the last change, nanoseconds since 1970
  /// CRC-32C of the first tfrecord_sample_size bytes followed by the last ones. Of a smaller file,
  /// all bytes count twice.
  std::uint32_t sample = 0;

  friend bool operator==(const tfrecord_fingerprint&, const tfrecord_fingerprint&) = default;
};
/// The number of bytes at each end of a file that tfrecord_fingerprint::sample covers.
inline constexpr std::size_t tfrecord_sample_size = 4096;

/// The first bytes of an index. As in a PNG file, a transfer that treats the file as text changes
/// them.
inline constexpr std::string_view tfrecord_index_signature = "\x89LIX\r\n\x1a\n";

/// An index of a TFRecord file: the number of records, and the position of each record in O(1).
///
/// An index is built by a tfrecord_index_builder or decoded from the bytes of an index file; see
/// docs/formats/tfrecord-index.md. The offsets of 128 records are stored as a straight line and
/// their differences from it. Each difference has as many bits as the largest one needs. Records of
/// one size take 0.2 bytes each, and records of 100 to 1000 bytes take 2 bytes each.
///
/// A value type.
///
/// Thread safety: thread-compatible; thread-safe while no thread assigns to it.
class tfrecord_index {
 public:
  /// The position of a record.
  struct entry {
    std::uint64_t offset = 0;  ///< of its first byte, frame included, from the start of the file
    std::uint64_t size = 0;    ///< of the payload, bytes

    friend bool operator==(const entry&, const entry&) = default;
  };

  /// Creates the index of a file without records.
  tfrecord_index() = default;

  /// Returns the number of records.
  [[nodiscard]] std::uint64_t size() const noexcept { return count_; }
  [[nodiscard]] bool empty() const noexcept { return count_ == 0; }

  /// Returns the position of record `i`.
  /// Precondition: i < size().
  /// Cost:         O(1), a few ns if it is cached.
  [[nodiscard]] entry operator[](std::uint64_t i) const noexcept {
    const std::uint64_t offset = offset_of(i);
    const std::uint64_t end = i + 1 == count_ ? fingerprint_.size : offset_of(i + 1);
    return {offset, end - offset - tfrecord_overhead};
  }

  /// Returns the size of all payloads together, in bytes.
  [[nodiscard]] std::uint64_t payload_size() const noexcept {
    return fingerprint_.size - count_ * tfrecord_overhead;
  }

  /// Returns the fingerprint of the file from which the index was built.
  [[nodiscard]] const tfrecord_fingerprint& fingerprint() const noexcept { return fingerprint_; }

  /// Returns the bytes of an index file.
  /// Errors: std::bad_alloc.
  [[nodiscard]] std::vector<std::byte> encode() const;

  /// Decodes the bytes of an index file. The result is consistent even for a crafted file: the
  /// records follow one another from the start to the end of a file of fingerprint().size bytes.
  ///
  /// Errors: invalid_argument if `bytes` are not an index; unimplemented for an index of another
  ///         version; data_loss for a corrupt index; std::bad_alloc.
  /// Cost:   about 1 ns a record.
  [[nodiscard]] static tfrecord_index decode(byte_view bytes);

  friend bool operator==(const tfrecord_index&, const tfrecord_index&) = default;

 private:
  friend class tfrecord_index_builder;

  static constexpr std::size_t block_records = 128;

  // The offset of record r of a block is origin + r * stride + the r-th of its differences, which
  // lie from bit `position` of words_ on and have `width` bits each. Sums are modulo 2^64.
  struct block {
    std::uint64_t origin = 0;
    std::uint64_t stride = 0;
    std::uint64_t packed_position = 0;  // position << 8 | width

    [[nodiscard]] std::uint64_t position() const noexcept { return packed_position >> 8; }
    [[nodiscard]] unsigned width() const noexcept {
      return static_cast<unsigned>(packed_position & 0xFF);
    }
    friend bool operator==(const block&, const block&) = default;
  };

  [[nodiscard]] std::uint64_t offset_of(std::uint64_t i) const noexcept {
    const block& b = blocks_[static_cast<std::size_t>(i / block_records)];
    const std::uint64_t r = i % block_records;
    return b.origin + r * b.stride + difference(b.position() + r * b.width(), b.width());
  }

  // `width` bits of words_, at most 63.
  [[nodiscard]] std::uint64_t difference(std::uint64_t bit, unsigned width) const noexcept {
    if (width == 0) return 0;
    const auto word = static_cast<std::size_t>(bit / 64);
    const auto shift = static_cast<unsigned>(bit % 64);
    // Two shifts, as one by 64 has no meaning.
    const std::uint64_t both = words_[word] >> shift | words_[word + 1] << 1 << (63 - shift);
    return both & ((std::uint64_t{1} << width) - 1);
  }

  [[nodiscard]] std::size_t used_words() const noexcept {
    return words_.empty() ? 0 : words_.size() - 1;
  }
  void check_positions() const;
  void check_offsets() const;

  std::vector<block> blocks_;
  std::vector<std::uint64_t> words_;  // none, or one more than is needed
  std::uint64_t count_ = 0;
  tfrecord_fingerprint fingerprint_;
};

/// A builder of an index, to which records are added one by one: while a file is written, or during
/// a scan of the headers.
///
///     leat::tfrecord_index_builder builder;
///     builder.add(payload.size());  // for each record that is written
///     co_await leat::save_tfrecord_index(path, std::move(builder));
///
/// Thread safety: thread-compatible.
class tfrecord_index_builder {
 public:
  /// Adds the next record of the file, by the size of its payload.
  ///
  /// Errors: std::bad_alloc, in which case nothing was added; invalid_argument if the file would be
  ///         larger than 2^63 bytes.
  /// Cost:   2 ns.
  void add(std::uint64_t payload_size);

  /// Returns the number of records so far.
  [[nodiscard]] std::uint64_t size() const noexcept { return index_.count_ + pending_.size(); }
  /// Returns the offset after the last record.
  [[nodiscard]] std::uint64_t end_offset() const noexcept { return end_; }

  /// Returns the index of the file with this fingerprint.
  /// Errors: failed_precondition if the fingerprint has a different size than the records;
  ///         std::bad_alloc.
  [[nodiscard]] tfrecord_index finish(const tfrecord_fingerprint& fingerprint) &&;

 private:
  void pack();

  tfrecord_index index_;                // without the pending records
  std::vector<std::uint64_t> pending_;  // offsets, at most those of a block
  std::uint64_t end_ = 0;
  std::uint64_t bits_ = 0;  // of words_ that are in use
};

/// Adds the records at the beginning of `bytes`, which must begin at a record, to an index. Only
/// headers are read: payloads are not checked and may lie beyond `bytes`. `left` is the number of
/// bytes from the beginning of `bytes` to the end of the file.
///
/// The scan ends with need_more at a header that is incomplete in `bytes`, or at a record that is
/// incomplete in the file. In the second case, tfrecord_scan::needed is above `left` minus
/// tfrecord_scan::consumed. Otherwise the scan ends like scan_tfrecords().
///
/// Thread safety: thread-compatible.
/// Cost:          a few ns a record.
tfrecord_scan index_tfrecords(byte_view bytes, std::uint64_t left, tfrecord_index_builder& to);

}  // namespace LEAT
