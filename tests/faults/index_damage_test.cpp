// Cuts the index file of a TFRecord file at every byte and flips every bit. Decoding refuses each
// such file and returns no offset. With corrected checksums, decoding either refuses a damaged file
// or returns an index whose records fill a file.

#include "faults/damage_effort.hpp"
#include "faults/damaged_files.hpp"
#include "leat/base/random.hpp"
#include "leat/codec/checksum/crc32c.hpp"
#include "leat/io/index/tfrecord_index_file.hpp"
#include "support/leat_test.hpp"
#include "support/temp_dir.hpp"

namespace index_damage_test {

using leat::tfrecord_index;
using leat_test::outcome;
using namespace leat_test::damaged;

// With records of these sizes, a difference takes nine bits, and the index has about `bytes` bytes.
tfrecord_index index_of(std::size_t bytes) {
  leat::random_engine random(7);
  leat::tfrecord_index_builder builder;
  while (builder.size() < bytes * 3 / 4) builder.add(100 + random.uniform_below(900));
  leat::tfrecord_fingerprint fingerprint;
  fingerprint.size = builder.end_offset();
  fingerprint.modified_ns = 1'700'000'000'123'456'789;
  fingerprint.sample = 0x12345678;
  return std::move(builder).finish(fingerprint);
}

// Returns std::nullopt if decoding refuses the bytes as damaged or as another kind of file.
std::optional<tfrecord_index> decoded(leat::byte_view bytes) {
  try {
    return tfrecord_index::decode(bytes);
  } catch (const leat::failure& e) {
    const bool as_documented = e.code() == errc::data_loss || e.code() == errc::unimplemented ||
                               e.code() == errc::invalid_argument;
    if (!as_documented) throw;
  }
  return std::nullopt;
}

void flip(std::vector<std::byte>& bytes, std::size_t bit) {
  bytes[bit / 8] ^= static_cast<std::byte>(1U << bit % 8);
}

TEST_CASE("damage: an index file with any bit wrong, or cut at any byte, is refused", "[faults]") {
  const tfrecord_index index = index_of(sample_size());
  std::vector<std::byte> bytes = index.encode();
  CHECK(bytes.size() > sample_size() / 2);
  // A checksum is fast, so all places are tested, even in a megabyte.
  const std::size_t stride = leat_test::slow_build ? 61 : 1;
  tell("tfrecord_index", bytes.size(), stride, stride);
  for (std::size_t bit = 0; bit < bytes.size() * 8; bit += stride) {
    flip(bytes, bit);
    if (decoded(bytes)) FAIL("bit " << bit);
    flip(bytes, bit);
  }
  for (std::size_t cut = 0; cut < bytes.size(); cut += stride) {
    if (decoded(leat::byte_view(bytes).first(cut))) FAIL("cut at " << cut);
  }
  CHECK(decoded(bytes) == index);
  bytes.push_back(std::byte{0});
  CHECK_FALSE(decoded(bytes));
}

// Returns true if the records of the index fill a file from its first byte to its last.
bool fills_a_file(const tfrecord_index& index) {
  std::uint64_t end = 0;
  for (std::uint64_t i = 0; i < index.size(); ++i) {
    const auto [offset, size] = index[i];
    if (offset != end) return false;
    end = offset + leat::tfrecord_overhead + size;
  }
  return end == index.fingerprint().size;
}

TEST_CASE("damage: an index with any bit wrong and right checksums describes a file, or is refused",
          "[faults]") {
  constexpr std::size_t checksums = 56;  // offset of the checksums
  constexpr std::size_t body = 64;
  const tfrecord_index index = index_of(sample_size());
  std::vector<std::byte> bytes = index.encode();
  const std::size_t stride = stride_for(bytes.size() * 8, 16 * bytes.size());
  tell("tfrecord_index with right checksums", bytes.size(), stride, 0);
  std::size_t taken = 0;
  for (std::size_t bit = 0; bit < bytes.size() * 8; bit += stride) {
    flip(bytes, bit);
    std::vector<std::byte> sealed = bytes;
    flip(bytes, bit);
    leat::store_little_endian(sealed.data() + checksums,
                              leat::crc32c(leat::byte_view(sealed).subspan(body)));
    leat::store_little_endian(sealed.data() + checksums + 4,
                              leat::crc32c(leat::byte_view(sealed).first(checksums + 4)));
    const std::optional<tfrecord_index> found = decoded(sealed);
    if (!found) continue;
    ++taken;
    if (!fills_a_file(*found)) FAIL("bit " << bit);
  }
  CHECK(taken > 0);
}

TEST_CASE("damage: a TFRecord file is not read with a corrupt index next to it", "[faults]") {
  const temp_dir dir;
  const std::string path = dir.write("f", tfrecords::sample());
  const std::string index_path = leat::tfrecord_index_path(path);
  const tfrecord_index index = leat::block_on(leat::build_tfrecord_index(path));
  leat::block_on(leat::save_tfrecord_index(path, index));
  sample_file f(index_path, temp_dir::read(index_path));
  const std::size_t size = f.content().size();
  const auto load = [&path] { return leat::block_on(leat::load_tfrecord_index(path)); };
  REQUIRE(load() == index);
  const auto refused = [&](std::size_t place) {
    const outcome o = leat_test::outcome_of([&] { static_cast<void>(load()); });
    INFO("place " << place << ": " << o.text);
    REQUIRE(o.code != errc{});
    REQUIRE(contains(o.text, index_path));
  };
  const std::size_t stride = leat_test::slow_build ? 23 : 1;
  for (std::size_t bit = 0; bit < size * 8; bit += stride) {
    f.flip(bit);
    refused(bit);
    f.flip(bit);
  }
  REQUIRE(load() == index);
  while (!f.content().empty()) {
    f.cut(f.content().size() - 1);
    refused(f.content().size());
  }
}

}  // namespace index_damage_test
