// Objects that were moved from end the process with a sentence.

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <catch2/catch.hpp>

#include "leat/io/line_reader.hpp"
#include "leat/pipeline/pipeline.hpp"
#include "leat/sim/world.hpp"
#include "leat/train/checkpoint_registry.hpp"
#include "leat/train/event_writer.hpp"
#include "leat/train/saver.hpp"
#include "support/leat_test.hpp"

namespace moved_from_test {

using leat::task;
using leat::sim::world;
using leat_test::contains;
using leat_test::last_words;

std::string last_words_in_world(const world::body& body) {
  return last_words([&] {
    world w(1);
    w.files().write_file("/f", "a\nb\n");
    w.run(body);
  });
}

TEST_CASE("event_writer: one that was moved from ends the process with a sentence", "[train]") {
  CHECK(contains(last_words_in_world([](world&) -> task<> {
                   auto first = co_await leat::event_writer::open("/events");
                   const auto second = std::move(first);
                   co_await first.add_scalar("a", 1);
                 }),
                 "an event_writer is used that was moved to another place"));
  CHECK(contains(last_words_in_world([](world&) -> task<> {
                   auto first = co_await leat::event_writer::open("/events");
                   const auto second = std::move(first);
                   co_await first.close();
                 }),
                 "an event_writer is used that was moved to another place"));
}

TEST_CASE("saver: one that was moved from ends the process with a sentence", "[train]") {
  for (const bool restores : {false, true}) {
    CHECK(contains(last_words_in_world([restores](world&) -> task<> {
                     std::int64_t x = 0;
                     leat::checkpoint_registry what("x");
                     what.add("x", x);
                     auto first = co_await leat::saver::open("/d", what);
                     const auto second = std::move(first);
                     if (restores) {
                       co_await first.restore("/d/model.ckpt-1");
                     } else {
                       co_await first.save(1);
                     }
                   }),
                   "a saver is used that was moved to another place"));
  }
}

TEST_CASE("pipeline: save() of one that was moved from ends the process with a sentence",
          "[train]") {
  CHECK(contains(
      last_words_in_world([](world&) -> task<> {
        auto first =
            leat::read_files<leat::line_reader>({.files = {"/f"}}).batch({.batch_size = 1});
        const auto second = std::move(first);
        static_cast<void>(first.save());
        co_return;
      }),
      "a pipeline is used that was moved to another place"));
}

}  // namespace moved_from_test
