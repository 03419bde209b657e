#include "leat/codec/tfrecord/tfrecord_index.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <string>
#include <utility>

#include "codec/checksum/raw_crc32c.hpp"
#include "codec/file_header.hpp"
#include "leat/base/error.hpp"
#include "leat/codec/checksum/crc32c.hpp"

namespace LEAT {

using detail::load_at;
using detail::max_file_size;

namespace {

// ------------------------------------------------------------------------------------- the format

constexpr std::uint32_t version = 1;

// An index file is [ header | blocks | words ]; docs/formats/tfrecord-index.md describes it. In
// memory, words_ has one word more than the file, because difference() always reads two words. The
// checksums do not make a crafted file harmless: check_positions() proves that no bit outside the
// words is read, and check_offsets() that the records fill the data file.

// Offsets of the numbers in the header.
enum : std::size_t {
  version_at = 8,
  sample_at = 12,
  size_at = 16,
  modified_at = 24,
  count_at = 32,
  payload_at = 40,
  words_at = 48,
  body_crc_at = 56,
  header_crc_at = 60,
  header_size = 64,
};
constexpr std::size_t index_block_size = 24;
constexpr std::size_t word_size = 8;

[[noreturn]] void throw_malformed_index(const std::string& what) {
  throw failure(errc::data_loss, "index is corrupt: " + what);
}

void check_header(byte_view bytes) {
  if (bytes.size() < tfrecord_index_signature.size() ||
      as_text(bytes.first(tfrecord_index_signature.size())) != tfrecord_index_signature) {
    throw failure(errc::invalid_argument, "file is not an index of a TFRecord file");
  }
  if (bytes.size() < sample_at) throw_malformed_index("file ends within the header");
  if (const auto v = load_at<std::uint32_t>(bytes, version_at); v != version) {
    throw failure(errc::unimplemented, "index has version " + std::to_string(v) +
                                           ", but this program reads version " +
                                           std::to_string(version) + ": update leat");
  }
  if (bytes.size() < header_size) throw_malformed_index("file ends within the header");
  if (load_at<std::uint32_t>(bytes, header_crc_at) != crc32c(bytes.first(header_crc_at))) {
    throw_malformed_index("checksum of the header is wrong");
  }
}

}  // namespace

std::vector<std::byte> tfrecord_index::encode() const {
  const std::size_t words = used_words();
  std::vector<std::byte> bytes(header_size + blocks_.size() * index_block_size + words * word_size);
  std::byte* const header = bytes.data();
  std::byte* at = header + header_size;
  for (const block& b : blocks_) {
    store_little_endian(at, b.origin);
    store_little_endian(at + 8, b.stride);
    store_little_endian(at + 16, b.packed_position);
    at += index_block_size;
  }
  for (std::size_t i = 0; i < words; ++i, at += word_size) store_little_endian(at, words_[i]);
  std::memcpy(header, tfrecord_index_signature.data(), tfrecord_index_signature.size());
  store_little_endian(header + version_at, version);
  store_little_endian(header + sample_at, fingerprint_.sample);
  store_little_endian(header + size_at, fingerprint_.size);
  store_little_endian(header + modified_at, fingerprint_.modified_ns);
  store_little_endian(header + count_at, count_);
  store_little_endian(header + payload_at, payload_size());
  store_little_endian(header + words_at, std::uint64_t{words});
  store_little_endian(header + body_crc_at, crc32c(byte_view(bytes).subspan(header_size)));
  store_little_endian(header + header_crc_at, crc32c({header, header_crc_at}));
  return bytes;
}

tfrecord_index tfrecord_index::decode(byte_view bytes) {
  check_header(bytes);
  tfrecord_index index;
  index.fingerprint_ = {load_at<std::uint64_t>(bytes, size_at),
                        load_at<std::int64_t>(bytes, modified_at),
                        load_at<std::uint32_t>(bytes, sample_at)};
  index.count_ = load_at<std::uint64_t>(bytes, count_at);
  const std::uint64_t size = index.fingerprint_.size;
  if (size > max_file_size || index.count_ > size / tfrecord_overhead ||
      index.payload_size() != load_at<std::uint64_t>(bytes, payload_at)) {
    throw_malformed_index("sizes in the header contradict each other");
  }
  // Neither overflows: there are fewer than 2^60 records.
  const std::uint64_t blocks = (index.count_ + block_records - 1) / block_records;
  const std::uint64_t words = load_at<std::uint64_t>(bytes, words_at);
  const byte_view body = bytes.subspan(header_size);
  if (body.size() < blocks * index_block_size ||
      (body.size() - blocks * index_block_size) / word_size != words ||
      (body.size() - blocks * index_block_size) % word_size != 0) {
    throw_malformed_index("size of the file does not match the sizes in the header");
  }
  if (load_at<std::uint32_t>(bytes, body_crc_at) != crc32c(body)) {
    throw_malformed_index("checksum of the offsets is wrong");
  }
  index.blocks_.reserve(static_cast<std::size_t>(blocks));
  for (std::size_t at = 0; at < blocks * index_block_size; at += index_block_size) {
    index.blocks_.push_back({load_at<std::uint64_t>(body, at), load_at<std::uint64_t>(body, at + 8),
                             load_at<std::uint64_t>(body, at + 16)});
  }
  if (words > 0) {
    index.words_.resize(static_cast<std::size_t>(words) + 1);
    std::memcpy(index.words_.data(), body.data() + blocks * index_block_size, words * word_size);
  }
  index.check_positions();
  index.check_offsets();
  return index;
}

// All differences lie within the words, and all words are used.
void tfrecord_index::check_positions() const {
  std::uint64_t bits = 0;
  for (std::size_t i = 0; i < blocks_.size(); ++i) {
    const block& b = blocks_[i];
    if (b.width() > 63 || b.position() != bits)
      throw_malformed_index("block " + std::to_string(i) + " has a wrong position or width");
    bits += b.width() * std::min<std::uint64_t>(count_ - i * block_records, block_records);
  }
  if ((bits + 63) / 64 != used_words())
    throw_malformed_index("number of offsets does not match the number of records");
}

// Checks that the records fill the file.
void tfrecord_index::check_offsets() const {
  std::uint64_t offset = 0;
  for (std::uint64_t i = 0; i < count_; ++i) {
    const std::uint64_t next = i + 1 == count_ ? fingerprint_.size : offset_of(i + 1);
    const bool begins = i > 0 || offset_of(0) == 0;
    if (!begins || next < offset || next - offset < tfrecord_overhead || next > fingerprint_.size) {
      throw_malformed_index("record " + std::to_string(i) + " has an impossible offset");
    }
    offset = next;
  }
  if (offset != fingerprint_.size) throw_malformed_index("records do not fill the file");
}

// ------------------------------------------------------------------------------------- the builder

void tfrecord_index_builder::add(std::uint64_t payload_size) {
  if (payload_size > max_file_size - tfrecord_overhead ||
      end_ > max_file_size - tfrecord_overhead - payload_size) {
    throw failure(errc::invalid_argument, "TFRecord file is larger than 2^63 bytes");
  }
  if (pending_.size() == tfrecord_index::block_records) pack();
  pending_.push_back(end_);
  end_ += payload_size + tfrecord_overhead;
}

// Packs the pending offsets into a block: the line through the first offset and the end, moved down
// to the lowest difference.
void tfrecord_index_builder::pack() {
  const std::uint64_t stride = (end_ - pending_[0]) / pending_.size();
  std::int64_t lowest = INT64_MAX;
  std::int64_t highest = INT64_MIN;
  for (std::size_t r = 0; r < pending_.size(); ++r) {
    const auto difference = static_cast<std::int64_t>(pending_[r] - r * stride);
    lowest = std::min(lowest, difference);
    highest = std::max(highest, difference);
  }
  const auto origin = static_cast<std::uint64_t>(lowest);
  const auto width =
      static_cast<unsigned>(std::bit_width(static_cast<std::uint64_t>(highest) - origin));

  // Reserves memory first: nothing fails after this.
  auto& words = index_.words_;
  const std::uint64_t bits = bits_ + width * pending_.size();
  const auto needed = bits == 0 ? 0 : static_cast<std::size_t>((bits + 63) / 64 + 1);
  if (needed > words.capacity()) words.reserve(std::max(needed, 2 * words.capacity()));
  index_.blocks_.push_back({origin, stride, bits_ << 8 | width});
  words.resize(needed);
  for (std::size_t r = 0; width > 0 && r < pending_.size(); ++r, bits_ += width) {
    const std::uint64_t difference = pending_[r] - r * stride - origin;
    const auto word = static_cast<std::size_t>(bits_ / 64);
    const auto shift = static_cast<unsigned>(bits_ % 64);
    words[word] |= difference << shift;
    // Two shifts, because a shift by 64 is undefined.
    words[word + 1] |= difference >> 1 >> (63 - shift);
  }
  index_.count_ += pending_.size();
  pending_.clear();
}

tfrecord_index tfrecord_index_builder::finish(const tfrecord_fingerprint& fingerprint) && {
  if (fingerprint.size != end_) {
    throw failure(errc::failed_precondition, "file has " + std::to_string(fingerprint.size) +
                                                 " bytes, but its records have " +
                                                 std::to_string(end_));
  }
  if (!pending_.empty()) pack();
  index_.fingerprint_ = fingerprint;
  return std::exchange(index_, {});
}

// ----------------------------------------------------------------------------------------- headers

tfrecord_scan index_tfrecords(byte_view bytes, std::uint64_t left, tfrecord_index_builder& to) {
  tfrecord_scan scan;
  std::uint64_t at = 0;
  for (;;) {
    scan.needed = tfrecord_header_size;
    if (left - at < scan.needed || at > bytes.size() || bytes.size() - at < scan.needed) break;
    const std::byte* const header = bytes.data() + at;
    scan.length = load_little_endian<std::uint64_t>(header);
    scan.expected_crc = unmask_crc32c(load_little_endian<std::uint32_t>(header + 8));
    scan.actual_crc = crc32c({header, 8});
    if (scan.expected_crc != scan.actual_crc) [[unlikely]] {
      scan.status = tfrecord_scan_status::bad_length_checksum;
      break;
    }
    if (scan.length > UINT64_MAX - tfrecord_overhead) [[unlikely]] {
      scan.status = tfrecord_scan_status::too_large;
      scan.needed = scan.length;
      break;
    }
    scan.needed = scan.length + tfrecord_overhead;
    if (scan.needed > left - at) [[unlikely]]
      break;
    to.add(scan.length);
    at += scan.needed;
  }
  scan.consumed = static_cast<std::size_t>(at);
  return scan;
}

}  // namespace LEAT
