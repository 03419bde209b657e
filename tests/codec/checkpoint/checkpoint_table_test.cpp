#include "leat/codec/checkpoint/checkpoint_table.hpp"

#include <algorithm>

#include "leat/codec/checksum/crc32c.hpp"
#include "support/effort.hpp"
#include "support/hex.hpp"
#include "support/outcome_of.hpp"
#include "tensor/plain_test.hpp"

namespace checkpoint_table_test {

using leat::checkpoint_table;
using leat_test::outcome;
using leat_test::outcome_of;

using bytes = std::vector<std::byte>;

leat::checkpoint_entry entry(std::string name, std::string type, std::uint32_t element_size,
                             std::uint64_t size, std::uint32_t checksum) {
  leat::checkpoint_entry e;
  e.name = std::move(name);
  e.type = std::move(type);
  e.element_size = element_size;
  e.size = size;
  e.checksum = checksum;
  return e;
}

checkpoint_table sample() {
  checkpoint_table t;
  t.identity = "digits";
  t.entries.push_back(entry("step", "int64", 8, 8, 0x11223344));
  t.entries.push_back(entry("weights", "float32", 4, 40, 5));
  t.entries.push_back(entry("empty", "", 24, 0, 0));
  t.entries.push_back(entry("input", "object", 1, 17, 6));
  t.assign_offsets();
  return t;
}

outcome decoding(leat::byte_view b) {
  return outcome_of([&] { static_cast<void>(checkpoint_table::decode(b)); });
}

// Recomputes the checksums of the header and the table.
void mend(bytes& b) {
  constexpr std::size_t header = checkpoint_table::header_size;
  leat::store_little_endian(b.data() + 32, leat::crc32c(leat::byte_view(b).subspan(header)));
  leat::store_little_endian(b.data() + 36, leat::crc32c({b.data(), 36}));
}

TEST_CASE("checkpoint_table: decodes what it encoded") {
  const checkpoint_table t = sample();
  const bytes b = t.encode();
  CHECK(checkpoint_table::decode(b) == t);
  CHECK(t.entries[0].offset == b.size());
  CHECK(t.entries[1].offset == b.size() + 8);
  CHECK(t.file_size() == b.size() + 8 + 40 + 17);
  CHECK(t.entries[1].count() == 10);
  const auto extent = checkpoint_table::decode_extent({b.data(), checkpoint_table::header_size});
  CHECK(extent.table_size == b.size());
  CHECK(extent.file_size == t.file_size());
}

TEST_CASE("checkpoint_table: the bytes are those of the format") {
  checkpoint_table t;
  t.identity = "m";
  t.entries.push_back(entry("a", "int8", 1, 2, 0x04030201));
  t.assign_offsets();
  const bytes b = t.encode();
  // Magic, version, number of entries, table size and file size, followed by the two checksums.
  CHECK(leat::as_text({b.data(), 32}) == leat_test::from_hex("894c434b0d0a1a0a0100000001000000"
                                                             "4c000000000000004e00000000000000"));
  CHECK(leat::as_text({b.data() + 40, b.size() - 40}) ==
        leat_test::from_hex("01006d0100040001000000"
                            "4c0000000000000002000000000000000102030461696e7438"));
  CHECK(leat::load_little_endian<std::uint32_t>(b.data() + 32) ==
        leat::crc32c({b.data() + 40, b.size() - 40}));
  CHECK(leat::load_little_endian<std::uint32_t>(b.data() + 36) == leat::crc32c({b.data(), 36}));
}

TEST_CASE("checkpoint_table: is the complete file if there are no entries") {
  checkpoint_table t;
  t.assign_offsets();
  const bytes b = t.encode();
  CHECK(b.size() == 42);
  CHECK(t.file_size() == 42);
  CHECK(checkpoint_table::decode(b) == t);
}

TEST_CASE("checkpoint_table: every truncation is found") {
  const bytes b = sample().encode();
  for (std::size_t size = 0; size < b.size(); ++size) {
    const outcome o = decoding({b.data(), size});
    REQUIRE(o.code == errc::data_loss);
    REQUIRE(contains(o.text, "file ends within the"));
  }
}

TEST_CASE("checkpoint_table: detects every flipped bit") {
  bytes b = sample().encode();
  for (std::size_t bit = 0; bit < b.size() * 8; ++bit) {
    const auto mask = static_cast<std::byte>(1U << (bit % 8));
    b[bit / 8] ^= mask;
    const outcome o = decoding(b);
    REQUIRE(o.code == (bit / 8 < 8 ? errc::invalid_argument : errc::data_loss));
    b[bit / 8] ^= mask;
  }
}

TEST_CASE("checkpoint_table: refuses other files and later versions") {
  CHECK_REFUSED("file is not a checkpoint",
                checkpoint_table::decode(leat::as_bytes("model_checkpoint_path: \"x\"\n")));
  CHECK(decoding({}).code == errc::data_loss);

  bytes b = sample().encode();
  b[8] = std::byte{2};
  mend(b);
  CHECK_FAILS(errc::unimplemented, "checkpoint has version 2, but this program reads version 1",
              checkpoint_table::decode(b));
}

// Changes a number of the table and keeps the checksums valid.
outcome changed(std::size_t at, std::uint64_t value, std::size_t size) {
  bytes b = sample().encode();
  for (std::size_t i = 0; i < size; ++i) b[at + i] = static_cast<std::byte>(value >> (8 * i));
  mend(b);
  return decoding(b);
}

TEST_CASE("checkpoint_table: refuses crafted lengths") {
  const std::size_t first = 40 + 2 + 6;  // after the identity
  const auto refused = [](const outcome& o, const std::string& why) {
    CHECK(o.code == errc::data_loss);
    CHECK(contains(o.text, why));
  };
  refused(changed(12, UINT32_MAX, 4), "number of entries exceeds the size of the table");
  refused(changed(16, UINT64_MAX, 8), "contradict");
  refused(changed(16, 41, 8), "contradict");
  refused(changed(24, 10, 8), "contradict");
  refused(changed(24, UINT64_MAX, 8), "contradict");
  refused(changed(24, 5000, 8), "do not fill the file");
  refused(changed(40, 65535, 2), "ends within an entry");
  refused(changed(first, 65535, 2), "ends within an entry");
  refused(changed(first + 4, 0, 4), "must have a multiple of its element size 0");
  refused(changed(first + 4, 3, 4), "must have a multiple of its element size 3");
  refused(changed(first + 8, 7, 8), "has offset 7, must have ");
  refused(changed(first + 16, UINT64_MAX & ~std::uint64_t{7}, 8), " exceeds the file size of ");
  refused(changed(first + 16, 16, 8), ", must have ");
}

TEST_CASE("checkpoint_table: refuses a name that occurs twice") {
  checkpoint_table t = sample();
  t.entries[1].name = "step";
  t.assign_offsets();
  CHECK_FAILS(errc::data_loss, "entry 'step' occurs twice", checkpoint_table::decode(t.encode()));
}

TEST_CASE("checkpoint_table: refuses to encode tables above the limits") {
  checkpoint_table long_name;
  long_name.entries.push_back(entry(std::string(65'536, 'n'), "", 1, 0, 0));
  CHECK_REFUSED("name of a value has 65536 bytes, must have at most 65535",
                long_name.assign_offsets());
  checkpoint_table huge;
  huge.entries.push_back(entry("a", "", 1, INT64_MAX, 0));
  CHECK_REFUSED("checkpoint is larger than 2^63 bytes", huge.assign_offsets());
  checkpoint_table many;
  for (int i = 0; i < 2200; ++i) {
    many.entries.push_back(entry(std::string(65'000, 'n') + std::to_string(i), "", 1, 0, 0));
  }
  CHECK_REFUSED("combine several values into one", many.assign_offsets());
}

TEST_CASE("checkpoint_table: random changes are refused or decode to a valid table") {
  const bytes good = sample().encode();
  leat::random_engine random(7);
  const std::uint64_t rounds = leat_test::scaled_count(20'000);
  std::uint64_t refused = 0;
  for (std::uint64_t round = 0; round < rounds; ++round) {
    bytes b = good;
    for (std::uint64_t changes = 1 + random.uniform_below(3); changes > 0; --changes) {
      const auto at = static_cast<std::size_t>(12 + random.uniform_below(b.size() - 12));
      b[at] = static_cast<std::byte>(random.uniform_below(256));
    }
    mend(b);
    const outcome o = decoding(b);
    if (o.code != errc{}) {
      REQUIRE(o.code == errc::data_loss);
      ++refused;
      continue;
    }
    const checkpoint_table t = checkpoint_table::decode(b);
    REQUIRE(t.encode() == b);
  }
  CHECK(refused > rounds / 4);
}

}  // namespace checkpoint_table_test
