#pragma once

// libFuzzer cannot guess checksums, so this mutator corrects those of TFRecord frames.

#include <cstddef>
#include <cstdint>
#include <span>

#include "leat/codec/checksum/crc32c.hpp"
#include "leat/codec/tfrecord/tfrecord.hpp"

extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t max_size);

namespace leat_test {

/// Corrects the checksums of all complete frames at the start of `bytes`, and of the header of the
/// next frame, regardless of its length.
inline void mend_tfrecords(std::span<std::byte> bytes) {
  const auto mend = [](std::span<std::byte> text, std::byte* stored) {
    leat::store_little_endian(stored, leat::mask_crc32c(leat::crc32c(text)));
  };
  while (bytes.size() >= leat::tfrecord_header_size) {
    mend(bytes.first(8), bytes.data() + 8);
    const auto length = leat::load_little_endian<std::uint64_t>(bytes.data());
    bytes = bytes.subspan(leat::tfrecord_header_size);
    if (bytes.size() < leat::tfrecord_footer_size) return;
    if (length > bytes.size() - leat::tfrecord_footer_size) return;
    const auto size = static_cast<std::size_t>(length);
    mend(bytes.first(size), bytes.data() + size);
    bytes = bytes.subspan(size + leat::tfrecord_footer_size);
  }
}

/// A custom mutator for inputs of TFRecord frames after `prefix` other bytes. One input in four
/// keeps its checksums.
inline std::size_t mutate_tfrecords(std::uint8_t* data, std::size_t size, std::size_t max_size,
                                    unsigned seed, std::size_t prefix) {
  const std::size_t made = LLVMFuzzerMutate(data, size, max_size);
  if (seed % 4 != 0 && made > prefix) {
    mend_tfrecords(std::as_writable_bytes(std::span(data, made).subspan(prefix)));
  }
  return made;
}

}  // namespace leat_test
