// Cuts a TFRecord file at every byte and flips every bit. The scan returns the records before the
// damage, and never returns a record that was not written. The sample has 64 KiB; `./dev campaign
// damage` sets LEAT_DAMAGE_SIZE=1048576. large_damage_test covers the readers.

#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "faults/damage_effort.hpp"
#include "leat/base/random.hpp"
#include "leat/codec/tfrecord/tfrecord.hpp"
#include "support/effort.hpp"

namespace damage_test {

constexpr std::uint64_t limit = std::uint64_t{1} << 30;

// Tests a part of the places if each takes long.
constexpr std::size_t stride = leat_test::slow_build ? 61 : 1;

struct sample {
  std::vector<std::byte> bytes;
  std::vector<std::size_t> ends;  // of the records, in bytes
  std::vector<leat::byte_view> records;
};

sample make_sample() {
  sample s;
  leat::random_engine random(5);
  while (s.bytes.size() < leat_test::damaged::sample_size()) {
    const auto size =
        static_cast<std::size_t>(random.uniform_below(random.uniform_below(4) == 0 ? 3000 : 120));
    std::vector<std::byte> payload(size);
    for (std::byte& b : payload) b = static_cast<std::byte>(random.uniform_below(256));
    leat::append_tfrecord(s.bytes, payload);
    s.ends.push_back(s.bytes.size());
  }
  leat::scan_tfrecords(s.bytes, s.records, SIZE_MAX, limit);
  return s;
}

// Returns the number of records that end at or before `at`.
std::size_t whole_before(const sample& s, std::size_t at) {
  return static_cast<std::size_t>(std::upper_bound(s.ends.begin(), s.ends.end(), at) -
                                  s.ends.begin());
}

bool same(const std::vector<leat::byte_view>& found, const sample& s, std::size_t count) {
  if (found.size() != count) return false;
  for (std::size_t i = 0; i < count; ++i) {
    if (!std::equal(found[i].begin(), found[i].end(), s.records[i].begin(), s.records[i].end())) {
      return false;
    }
  }
  return true;
}

TEST_CASE("damage: a TFRecord file cut at any byte gives the records before the cut", "[faults]") {
  const sample s = make_sample();
  REQUIRE(s.records.size() == s.ends.size());
  std::vector<leat::byte_view> found;
  for (std::size_t cut = 0; cut <= s.bytes.size(); cut += stride) {
    found.clear();
    const auto result =
        leat::scan_tfrecords(leat::byte_view(s.bytes).first(cut), found, SIZE_MAX, limit);
    const std::size_t expected = whole_before(s, cut);
    REQUIRE(found.size() == expected);
    REQUIRE(result.status == leat::tfrecord_scan_status::need_more);
    REQUIRE(result.consumed == (expected == 0 ? 0 : s.ends[expected - 1]));
  }
}

TEST_CASE("damage: detects any flipped bit in a TFRecord file and delivers no wrong record",
          "[faults]") {
  sample s = make_sample();
  std::vector<leat::byte_view> found;
  const std::vector<std::byte> original = s.bytes;
  // The views refer to the original, so the loop damages a copy.
  std::vector<std::byte> damaged = original;
  for (std::size_t bit = 0; bit < original.size() * 8; bit += stride) {
    const std::size_t at = bit / 8;
    damaged[at] ^= static_cast<std::byte>(1U << (bit % 8));
    found.clear();
    // Scans from the record before the damage, because the damage cannot change earlier records.
    const std::size_t first = whole_before(s, at);
    const std::size_t from = first == 0 ? 0 : s.ends[first - 1];
    const auto result =
        leat::scan_tfrecords(leat::byte_view(damaged).subspan(from), found, SIZE_MAX, limit);
    REQUIRE(found.empty());
    REQUIRE(result.status != leat::tfrecord_scan_status::full);
    REQUIRE(result.consumed == 0);
    damaged[at] = original[at];
  }
  leat::scan_tfrecords(damaged, found, SIZE_MAX, limit);
  CHECK(same(found, s, s.records.size()));
}

}  // namespace damage_test
