// An indexed_reader resumes from its own state, the state of another one, or those of another
// number of ranks. The ranks of a job together read each record exactly once.

#include <algorithm>
#include <functional>

#include "io/index/indexed_reader_support.hpp"
#include "support/effort.hpp"

using namespace indexed_reader_test;
using leat::epoch_fingerprint;
using leat::indexed_reader_state;
using leat::shard_by;
using leat::shard_remainder;

namespace indexed_reader_resume_test {

const numbers files = {13, 0, 5, 30, 2};
constexpr std::uint64_t records = 50;

indexed_reader_options some_epochs(std::uint64_t count, std::size_t batch_size = 8) {
  indexed_reader_options o;
  o.num_epochs = count;
  o.seed = 23;
  o.batch_size = batch_size;
  return o;
}

// Adds the records of a batch to the fingerprint of its epoch.
void add(std::vector<epoch_fingerprint>& epochs, const indexed_reader& from,
         const leat::record_selection& batch) {
  if (batch.empty()) return;
  epochs.resize(std::max<std::size_t>(epochs.size(), from.epoch() + 1));
  for (std::size_t i = 0; i < batch.size(); ++i) {
    epochs[from.epoch()].add(batch.global_index(i), batch[i]);
  }
}

epoch_fingerprint of_all(const data& d) {
  epoch_fingerprint f;
  for (std::size_t i = 0; i < d.records.size(); ++i) f.add(i, leat::as_bytes(d.records[i]));
  return f;
}

task<> read_fingerprints(const data& d, indexed_reader_options o, std::string state,
                         std::size_t batches, std::vector<epoch_fingerprint>& epochs,
                         std::string& state_after) {
  const auto reader = co_await open(d, std::move(o));
  if (!state.empty()) reader->restore_state(state);
  leat::record_selection batch;
  for (bool more = true; more && batches > 0; --batches) {
    more = co_await reader->read_batch(batch);
    add(epochs, *reader, batch);
  }
  state_after = reader->serialize_state();
}

TEST_CASE("indexed_reader: a state of any batch resumes identically in a new reader") {
  for (const shard_by by : {shard_by::records, shard_by::files}) {
    for (const auto last :
         {shard_remainder::keep, shard_remainder::drop, shard_remainder::repeat}) {
      in_world([&](world& w) -> task<> {
        const data d = data::make(w, files);
        indexed_reader_options o = some_epochs(3, 5);
        o.world = {.rank = 2, .world_size = 3};
        o.shard.by = by;
        o.shard.remainder = last;
        const auto uninterrupted = co_await open(d, o);
        reading whole;
        co_await read(*uninterrupted, d, whole);
        for (std::size_t batches = 0; batches < 40; ++batches) {
          const auto first = co_await open(d, o);
          reading both;
          co_await read(*first, d, both, batches);
          indexed_reader_options without_seed = o;
          without_seed.seed.reset();
          const auto second = co_await open(d, without_seed);
          const std::string state = first->serialize_state();
          second->restore_state(state);
          REQUIRE(second->serialize_state() == state);
          REQUIRE(state.size() < 120);
          co_await read(*second, d, both);
          REQUIRE(both.global_indexes == whole.global_indexes);
          REQUIRE(both.epochs == whole.epochs);
        }
      });
    }
  }
}

TEST_CASE("indexed_reader: all ranks together read each record once, by the fingerprint") {
  for (std::uint64_t world_size = 1; world_size <= 4; ++world_size) {
    for (const shard_by by : {shard_by::records, shard_by::files}) {
      in_world([&](world& w) -> task<> {
        const data d = data::make(w, files);
        std::vector<epoch_fingerprint> all(2);
        for (std::uint64_t rank = 0; rank < world_size; ++rank) {
          indexed_reader_options o = some_epochs(2);
          o.world = {.rank = rank, .world_size = world_size};
          o.shard.by = by;
          std::vector<epoch_fingerprint> epochs(2);
          std::string state;
          co_await read_fingerprints(d, o, {}, SIZE_MAX, epochs, state);
          for (std::size_t e = 0; e < 2; ++e) all[e] += epochs[e];
        }
        REQUIRE(all == std::vector<epoch_fingerprint>(2, of_all(d)));
      });
    }
  }
}

TEST_CASE("indexed_reader: equal ranks return the same number of records and count the rest") {
  in_world([](world& w) -> task<> {
    const data d = data::make(w, files);
    for (const shard_by by : {shard_by::records, shard_by::files}) {
      for (const auto last : {shard_remainder::drop, shard_remainder::repeat}) {
        std::uint64_t dropped = 0;
        std::uint64_t repeated = 0;
        std::vector<std::uint64_t> counts;
        for (std::uint64_t rank = 0; rank < 4; ++rank) {
          indexed_reader_options o = some_epochs(2);
          o.world = {.rank = rank, .world_size = 4};
          o.shard.by = by;
          o.shard.remainder = last;
          const auto reader = co_await open(d, o);
          reading all;
          co_await read(*reader, d, all);
          REQUIRE(reader->statistics().records == all.global_indexes.size());
          counts.push_back(all.global_indexes.size());
          dropped += reader->statistics().dropped;
          repeated += reader->statistics().repeated;
        }
        CHECK(counts == std::vector<std::uint64_t>(4, counts[0]));
        CHECK(4 * counts[0] + dropped == 2 * records + repeated);
        CHECK((last == shard_remainder::drop ? repeated : dropped) == 0);
        if (by == shard_by::records) CHECK(dropped + repeated == 2 * 2);  // 50 = 12 * 4 + 2
      }
    }
  });
}

TEST_CASE("indexed_reader: another number of ranks resumes from the state of any rank") {
  for (std::uint64_t before = 1; before <= 4; ++before) {
    for (std::uint64_t after = 1; after <= 5; ++after) {
      in_world([&](world& w) -> task<> {
        const data d = data::make(w, files);
        const std::size_t step = leat_test::slow_build ? 3 : 1;
        for (std::size_t batches = 0; batches <= 2 * (records / before / 3); batches += step) {
          std::vector<epoch_fingerprint> all(2);
          std::vector<std::string> states(before);
          for (std::uint64_t rank = 0; rank < before; ++rank) {
            indexed_reader_options o = some_epochs(2, 3);
            o.world = {.rank = rank, .world_size = before};
            o.shard.remainder = shard_remainder::drop;
            co_await read_fingerprints(d, o, {}, batches, all, states[rank]);
          }
          for (std::string& state : states) REQUIRE(state == states[0]);
          // The next ranks read the records that the previous ranks dropped, if those belong to the
          // current epoch.
          const auto stood = indexed_reader_state::from_bytes(states[0], "a test");
          for (std::uint64_t rank = 0; rank < after; ++rank) {
            indexed_reader_options o = some_epochs(2, 3);
            o.world = {.rank = rank, .world_size = after};
            std::string state;
            co_await read_fingerprints(d, o, states[0], SIZE_MAX, all, state);
          }
          for (std::size_t e = static_cast<std::size_t>(stood.epoch); e < 2; ++e) {
            REQUIRE(all[e] == of_all(d));
          }
        }
      });
    }
  }
}

TEST_CASE("indexed_reader: with shard_by::files another number of ranks resumes from all states") {
  for (std::uint64_t before = 1; before <= 3; ++before) {
    for (std::uint64_t after = 1; after <= 4; ++after) {
      in_world([&](world& w) -> task<> {
        const data d = data::make(w, files);
        const auto read_rank = [&](std::uint64_t rank, std::uint64_t world_size,
                                   const std::vector<std::string>& states, std::size_t batches,
                                   std::vector<epoch_fingerprint>& all) -> task<std::string> {
          indexed_reader_options o = some_epochs(3, 3);
          o.world = {.rank = rank, .world_size = world_size};
          o.shard.by = shard_by::files;
          const auto reader = co_await open(d, o);
          if (!states.empty()) reader->restore_ranks(states);
          leat::record_selection batch;
          for (bool more = true; more && batches > 0; --batches) {
            more = co_await reader->read_batch(batch);
            add(all, *reader, batch);
          }
          co_return reader->serialize_state();
        };
        const std::size_t step = leat_test::slow_build ? 5 : 1;
        for (std::size_t batches = 0; batches <= 24; batches += step) {
          std::vector<epoch_fingerprint> all(3);
          std::vector<std::string> states;
          for (std::uint64_t rank = 0; rank < before; ++rank) {
            states.push_back(
                co_await read_rank(rank, before, {}, (batches * (1 + rank)) % 25, all));
          }
          std::vector<std::string> later;  // states of resumed ranks
          for (std::uint64_t rank = 0; rank < after; ++rank) {
            later.push_back(co_await read_rank(rank, after, states, 1 + rank, all));
          }
          for (std::uint64_t rank = 0; rank < before; ++rank) {
            static_cast<void>(co_await read_rank(rank, before, later, SIZE_MAX, all));
          }
          // The ranks read the rest of an epoch in the last epoch that any rank had started, so
          // only the sum is checked.
          epoch_fingerprint sum;
          epoch_fingerprint expected;
          for (std::size_t e = 0; e < 3; ++e) {
            sum += all[e];
            expected += of_all(d);
          }
          REQUIRE(sum == expected);
        }
        const auto reader = co_await open(d, some_epochs(1));
        CHECK_THROWS_AS(reader->restore_ranks({}), leat::failure);
      });
    }
  }
}

// Returns the refusal of a state, and checks that the reader is unchanged.
std::string refusal_of(indexed_reader& reader, const std::string& state, errc expected) {
  const std::string before = reader.serialize_state();
  const std::string said =
      leat_test::plain_message_of([&] { reader.restore_state(state); }, expected);
  CHECK(reader.serialize_state() == before);
  return said;
}

TEST_CASE("indexed_reader: refuses a state of other files or orders and names the difference") {
  in_world([](world& w) -> task<> {
    const data d = data::make(w, files);
    indexed_reader_options by_files = some_epochs(2);
    by_files.world.world_size = 2;
    by_files.shard.by = shard_by::files;
    const auto first = co_await open(d, by_files);
    reading some;
    co_await read(*first, d, some, 1);
    const indexed_reader_state good = first->state();
    const auto said = [&](const std::function<void(indexed_reader_state&)>& change) {
      indexed_reader_state s = good;
      change(s);
      return refusal_of(*first, s.to_bytes(), errc::failed_precondition);
    };
    CHECK(said([](auto&) {}).empty());
    CHECK(said([](auto& s) { s.files = 4; }) ==
          "indexed_reader: cannot resume: state has 4 files, the reader has 5");
    CHECK(contains(said([](auto& s) { ++s.records; }), "state has 51 records, the reader has 50"));
    CHECK(contains(said([](auto& s) { s.size = 1; }), "state has 1 bytes, the reader has "));
    CHECK(contains(said([](auto& s) { s.contents = {5, 1, 1}; }), "in size, contents or order"));
    CHECK(contains(said([](auto& s) { s.times = {5, 1, 1}; }), "modification time of a file"));
    CHECK(contains(said([](auto& s) { s.shuffle = false; }), "saved without shuffle"));
    CHECK(contains(said([](auto& s) { s.seed = 1; }), "state has the seed 1, the options have 23"));
    CHECK(contains(said([](auto& s) { s.by = shard_by::records; }),
                   "in the middle of an epoch with shard_by::records"));
    CHECK(contains(said([](auto& s) { s.world_size = 3; }), "among 3 ranks, but world_size is 2"));
    indexed_reader_state beginning = good;  // at the start of an epoch, other shards are possible
    beginning.position = 0;
    beginning.world_size = 3;
    beginning.by = shard_by::records;
    first->restore_state(beginning.to_bytes());
    CHECK(first->state().position == 0);
  });
}

TEST_CASE("indexed_reader: a restored reader counts num_epochs from the first epoch") {
  in_world([](world& w) -> task<> {
    const data d = data::make(w, files);
    constexpr std::uint64_t most = 4;
    const auto whole_reader = co_await open(d, some_epochs(most));
    reading whole;
    co_await read(*whole_reader, d, whole);
    for (std::size_t batches = 0; batches <= 3 * 7; ++batches) {  // an epoch has 7
      const auto first = co_await open(d, some_epochs(3));
      reading before;
      co_await read(*first, d, before, batches);
      const indexed_reader_state state = first->state();
      const std::uint64_t begun = state.epoch + (state.position > 0 ? 1 : 0);
      for (std::uint64_t count = 1; count <= most; ++count) {
        const auto second = co_await open(d, some_epochs(count));
        if (begun > count) {
          REQUIRE(refusal_of(*second, state.to_bytes(), errc::failed_precondition) ==
                  "indexed_reader: cannot resume: state has started " + std::to_string(begun) +
                      " epochs, but num_epochs is " + std::to_string(count));
          continue;
        }
        reading both = before;
        second->restore_state(state.to_bytes());
        co_await read(*second, d, both);
        const auto expected = static_cast<std::ptrdiff_t>(count * records);
        REQUIRE(both.global_indexes ==
                numbers(whole.global_indexes.begin(), whole.global_indexes.begin() + expected));
        REQUIRE(both.epochs == numbers(whole.epochs.begin(), whole.epochs.begin() + expected));
      }
    }
  });
}

TEST_CASE("indexed_reader: refuses a state if a file has changed") {
  in_world([](world& w) -> task<> {
    data d = data::make(w, files);
    std::string state;
    {
      const auto reader = co_await open(d, some_epochs(2));
      state = reader->serialize_state();
    }
    d.records[0][2] ^= 1;  // equal size and modification time
    const texts first(d.records.begin(), d.records.begin() + 13);
    w.files().write_file(d.paths[0], leat_test::framed(first));
    const auto changed = co_await open(d, some_epochs(2));
    CHECK(contains(refusal_of(*changed, state, errc::failed_precondition),
                   "in size, contents or order"));
    std::swap(d.paths[0], d.paths[2]);
    const auto other_order = co_await open(d, some_epochs(2));
    CHECK(
        contains(refusal_of(*other_order, state, errc::failed_precondition), "contents or order"));
  });
}

TEST_CASE("indexed_reader_state: refuses invalid bytes") {
  indexed_reader_state s;
  s.epoch = 3;
  s.position = 4;
  s.seed = UINT64_MAX;
  s.files = 5;
  s.records = 6;
  s.size = 7;
  s.contents = {5, 8, 9};
  s.times = {5, 10, 11};
  const std::string bytes = s.to_bytes();
  CHECK(indexed_reader_state::from_bytes(bytes, "r") == s);
  const auto said = [](const std::string& b) {
    return leat_test::refusal([&] { return indexed_reader_state::from_bytes(b, "r"); });
  };
  CHECK(contains(said(""), "r: state cannot be restored: "));
  CHECK(contains(said("text"), "bytes are not the state of an indexed_reader"));
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    // A prefix is refused or, if the cut is between two fields, it is another state.
    const std::string cut = bytes.substr(0, size);
    if (said(cut).empty()) CHECK_FALSE(indexed_reader_state::from_bytes(cut, "r") == s);
  }
  CHECK_FALSE(said(bytes + bytes).empty());
  CHECK_FALSE(said(bytes + "\x78\x01").empty());  // field 15
  for (const char* part : {"\x7A\x05\x25\x01\x02\x03\x04", "\x7A\x02\x0A\x00"}) {
    // Numbers of a part with another wire type. protozero asserts the types.
    CHECK(contains(said(bytes + std::string(part, 2 + static_cast<unsigned char>(part[1]))),
                   "invalid part of an epoch"));
  }
  s.position = 7;
  CHECK(contains(said(s.to_bytes()), "position is after the end of the epoch"));
  leat::random_engine random(1);
  for (int i = 0; i < 10'000; ++i) {
    std::string changed = bytes;
    changed[static_cast<std::size_t>(random.uniform_below(changed.size()))] =
        static_cast<char>(random.uniform_below(256));
    std::string again = changed;
    try {  // refused, or encodes to equal bytes
      again = indexed_reader_state::from_bytes(changed, "r").to_bytes();
    } catch (const leat::failure&) {
    }
    REQUIRE(again == changed);
  }
}

TEST_CASE("indexed_reader_state: refuses a later version as unimplemented") {
  std::string bytes = indexed_reader_state{}.to_bytes();
  REQUIRE(bytes.substr(0, 2) == "\x08\x01");
  bytes[1] = 2;
  CHECK_FAILS(errc::unimplemented, "it has version 2, but this program reads version 1",
              indexed_reader_state::from_bytes(bytes + "\x7A\x01x", "r"));
}

}  // namespace indexed_reader_resume_test
