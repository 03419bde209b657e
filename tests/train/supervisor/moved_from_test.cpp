// The use of a moved-from object ends the process with a message.

#include "leat/io/reader/line_reader.hpp"
#include "leat/pipeline/pipeline.hpp"
#include "leat/sim/world/world.hpp"
#include "leat/train/checkpoint/checkpoint_registry.hpp"
#include "leat/train/checkpoint/saver.hpp"
#include "leat/train/summary/event_writer.hpp"
#include "support/leat_test.hpp"

namespace moved_from_test {

using leat::sim::world;
using leat_test::abort_message;

std::string last_words_in_world(const world::body& body) {
  return abort_message([&] {
    world w(1);
    w.files().write_file("/f", "a\nb\n");
    w.run(body);
  });
}

TEST_CASE("event_writer: use after a move ends the process with a message", "[train]") {
  CHECK(contains(last_words_in_world([](world&) -> task<> {
                   auto first = co_await leat::event_writer::open("/events");
                   const auto second = std::move(first);
                   co_await first.add_scalar("a", 1);
                 }),
                 "event_writer used after a move"));
  CHECK(contains(last_words_in_world([](world&) -> task<> {
                   auto first = co_await leat::event_writer::open("/events");
                   const auto second = std::move(first);
                   co_await first.close();
                 }),
                 "event_writer used after a move"));
}

TEST_CASE("saver: use after a move ends the process with a message", "[train]") {
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
                   "saver used after a move"));
  }
}

constexpr auto moved_pipeline = "pipeline used after a move";

auto make_pipeline() {
  return leat::read_files<leat::line_reader>({.files = {"/f"}}).batch({.batch_size = 1});
}

using line_pipeline = decltype(make_pipeline());

line_pipeline moved_from_pipeline() {
  line_pipeline first = make_pipeline();
  const line_pipeline second = std::move(first);
  return first;
}

TEST_CASE("pipeline: use after a move ends the process with a message", "[train]") {
  const std::vector<task<> (*)(line_pipeline)> uses = {
      [](line_pipeline p) -> task<> { co_await p.next(); },
      [](line_pipeline p) -> task<> { co_await p.stop(); },
      [](line_pipeline p) -> task<> { co_await p.for_each([](leat::owned_line_batch) {}); },
      [](line_pipeline p) -> task<> { co_await p.restore("state"); },
      [](line_pipeline p) -> task<> {
        static_cast<void>(p.save());
        co_return;
      },
  };
  for (std::size_t i = 0; i < uses.size(); ++i) {
    const std::string said =
        last_words_in_world([&](world&) { return uses[i](moved_from_pipeline()); });
    CAPTURE(i, said);
    CHECK(contains(said, moved_pipeline));
  }
}

TEST_CASE("pipeline: adding a stage after a move ends the process with a message", "[train]") {
  const std::vector<void (*)(line_pipeline)> stages = {
      [](line_pipeline p) {
        const auto count = [](leat::owned_line_batch rows) { return rows.size(); };
        static_cast<void>(std::move(p).map("count", count));
      },
      [](line_pipeline p) {
        const auto counts = [](leat::owned_line_batch rows) { return std::vector{rows.size()}; };
        static_cast<void>(std::move(p).flat_map("counts", counts));
      },
      [](line_pipeline p) { static_cast<void>(std::move(p).shuffle({.capacity = 2})); },
      [](line_pipeline p) {
        static_cast<void>(std::move(p).batch({.batch_size = 2, .name = "pairs"}));
      },
      [](line_pipeline p) { static_cast<void>(std::move(p).prefetch(1)); },
      [](line_pipeline p) { static_cast<void>(std::move(p).prefetch({.on_worker = true})); },
  };
  for (std::size_t i = 0; i < stages.size(); ++i) {
    CAPTURE(i);
    CHECK(contains(abort_message([&] { stages[i](moved_from_pipeline()); }), moved_pipeline));
  }
}

TEST_CASE("pipeline: adding a stage after next() ends the process with a message", "[train]") {
  CHECK(contains(last_words_in_world([](world&) -> task<> {
                   line_pipeline p = make_pipeline();
                   co_await p.next();
                   static_cast<void>(std::move(p).prefetch(1));
                 }),
                 "stage added to a pipeline that has started"));
}

}  // namespace moved_from_test
