// A pipeline resumes from states that leat 0.2 saved, record for record, and saves the same bytes.

#include "pipeline/state/saved_by_0_2.hpp"

#include "base/text/base64.hpp"
#include "fuzz/saved_pipelines.hpp"
#include "leat/io/reader/csv_reader.hpp"
#include "leat/io/reader/fixed_length_reader.hpp"
#include "leat/io/reader/tfrecord_reader.hpp"
#include "leat/io/reader/whole_file_reader.hpp"
#include "pipeline/resuming.hpp"

namespace saved_by_0_2_test {

using leat::sim::world;
using leat_test::texts;

constexpr std::size_t most = 60;  // elements of a stream that are compared

std::string bytes_of(std::string_view base64) {
  return leat::detail::decode_base64(base64).value();
}

auto declare_csv(std::uint64_t rank, std::uint64_t world_size) {
  return leat::read_files<leat::csv_reader>(
             {.files = {"/lines/?"},
              .num_epochs = 2,
              .interleave = 2,
              .block_length = 3,
              .readers = 2,
              .world = {.rank = rank, .world_size = world_size},
              .reader = {.skip_header_records = 1, .delimiter = ';'}})
      .map("text", leat_test::text_of_record, {.workers = 2})
      .prefetch(2)
      .shuffle({.capacity = 3, .seed = 9});
}

auto declare_tfrecords(std::uint64_t rank, std::uint64_t world_size) {
  using leat::corruption_policy;
  return leat::read_files<leat::tfrecord_reader>(
             {.files = {"/records/?"},
              .num_epochs = 3,
              .shuffle = true,
              .seed = 4,
              .block_length = 2,
              .world = {.rank = rank, .world_size = world_size},
              .reader = {.tolerate_truncated_tail = true,
                         .corruption = {.policy = corruption_policy::resync}}})
      .flat_map("twice", [](leat::byte_view r) { return texts(2, leat_test::text_of_record(r)); })
      .shuffle({.capacity = 4, .seed = 6})
      .batch({.batch_size = 3, .remainder = leat::batch_remainder::drop})
      .map("join", [](const texts& batch) { return leat_test::joined_by_commas(batch); })
      .prefetch(1);
}

auto declare_windows(std::uint64_t rank, std::uint64_t world_size) {
  return leat::read_files<leat::fixed_length_reader>(
             {.files = {"/lines/a", "/lines/d"},
              .interleave = 2,
              .block_length = 1,
              .world = {.rank = rank, .world_size = world_size},
              .reader = {.record_size = 4, .header_size = 1, .footer_size = 1, .hop_size = 2}})
      .map("text", leat_test::text_of_record);
}

auto declare_whole(std::uint64_t rank, std::uint64_t world_size) {
  return leat::read_files<leat::whole_file_reader>(
             {.files = {"/lines/?"},
              .num_epochs = std::nullopt,
              .world = {.rank = rank, .world_size = world_size}})
      .map("text", leat_test::text_of_record);
}

/// Calls `body` with the function that declares the pipeline of this name.
void with_pipeline(std::string_view name, auto body) {
  if (name == "files") return body(leat_test::declare_files);
  if (name == "batches") return body(leat_test::declare_batches);
  if (name == "index") {
    return body([](auto rank, auto size) { return leat_test::declare_index(rank, size); });
  }
  if (name == "index by files") return body(leat_test::declare_index_by_files);
  if (name == "csv") return body(declare_csv);
  if (name == "tfrecords") return body(declare_tfrecords);
  if (name == "windows") return body(declare_windows);
  if (name == "whole") return body(declare_whole);
  FAIL("no pipeline " << name);
}

/// Runs a task in a world with the files that the pipelines read.
template <class Body>
void run(Body body) {
  world w(1);
  w.run([&](world& here) -> leat::task<> {
    leat_test::write_files(here);
    co_await body();
  });
}

TEST_CASE("resume: from states of leat 0.2, record for record", "[pipeline]") {
  for (const leat_test::state_of_0_2& saved : leat_test::states_of_0_2) {
    INFO(saved.pipeline << ", rank " << saved.rank << " of " << saved.world_size << " after "
                        << saved.elements);
    const std::string state = bytes_of(saved.bytes);
    with_pipeline(saved.pipeline, [&](auto declare) {
      texts all;
      texts rest;
      std::string again;
      run([&]() -> leat::task<> {
        auto p = declare(saved.rank, saved.world_size);
        auto [elements, states] = co_await leat_test::read_and_save(p, most);
        all = std::move(elements);
        again = std::move(states.at(saved.elements));
      });
      run([&]() -> leat::task<> {
        auto p = declare(saved.rank, saved.world_size);
        rest = co_await leat_test::go_on(p, state, most - saved.elements);
      });
      CHECK(again == state);
      CHECK(rest == texts(all.begin() + static_cast<std::ptrdiff_t>(saved.elements), all.end()));
    });
  }
}

TEST_CASE("resume: the ranks of leat 0.2 as another number of ranks, record for record",
          "[pipeline]") {
  for (const leat_test::share_of_0_2& share : leat_test::shares_of_0_2) {
    INFO(share.pipeline << ", rank " << share.rank << " of " << share.world_size);
    texts states;
    for (const leat_test::state_of_0_2& saved : leat_test::states_of_0_2) {
      const bool is_rank = saved.pipeline == share.pipeline && saved.world_size == 2;
      if (is_rank) states.push_back(bytes_of(saved.bytes));
    }
    REQUIRE(states.size() == 2);
    with_pipeline(share.pipeline, [&](auto declare) {
      texts all;
      run([&]() -> leat::task<> {
        auto p = declare(share.rank, share.world_size);
        co_await p.restore_ranks(states);
        const auto both = co_await leat_test::read_and_save(p, 20);
        all = both.first;
        if (!share.bytes.empty()) CHECK(both.second.at(4) == bytes_of(share.bytes));
      });
      CHECK(leat_test::joined_by_commas(all) == share.elements);
      if (share.bytes.empty()) return;
      texts rest;
      run([&]() -> leat::task<> {
        auto p = declare(share.rank, share.world_size);
        rest = co_await leat_test::go_on(p, bytes_of(share.bytes), all.size() - 4);
      });
      CHECK(rest == texts(all.begin() + 4, all.end()));
    });
  }
}

}  // namespace saved_by_0_2_test
