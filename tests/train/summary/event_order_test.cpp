// The order of event files: readers sort them by their names.

#include "leat/sim/world/world.hpp"
#include "leat/train/summary/event_reader.hpp"
#include "leat/train/summary/event_writer.hpp"
#include "support/leat_test.hpp"
#include "train/in_world.hpp"

namespace event_order_test {

using leat::event_writer;
using leat::session_log;
using leat::sim::world;
using leat_test::in_world;

// Writes the events of one run. A later run is read after it, however soon it starts.
task<> learn_in(world& here, int process, int from, int to) {
  here.set_identity({"sim", process});
  auto writer = co_await event_writer::open("/d");
  co_await writer.add_session_log(session_log::start, from);
  for (int step = from; step < to; ++step) co_await writer.add_scalar("loss", process, step);
  co_await writer.close();
}

TEST_CASE("event_writer: a restart within a second is read as a restart [89]", "[train]") {
  const std::chrono::seconds clock_jumps[] = {0s, -1h, 2s};
  for (const auto& [first, second] : {std::pair(1, 2), std::pair(9, 10), std::pair(10, 9)}) {
    for (const std::chrono::seconds jump : clock_jumps) {
      INFO("process " << first << ", then " << second << ", the clock jumps " << jump.count());
      world w(1);
      w.run([&](world& here) -> task<> {
        co_await learn_in(here, first, 0, 100);
        here.jump_wall_clock(jump);
        co_await learn_in(here, second, 60, 120);
        co_await learn_in(here, first, 110, 130);
        const leat::event_run run = co_await leat::read_events("/d");
        const auto& loss = run.series.scalars.at("loss");
        REQUIRE(loss.size() == 130);
        for (int step = 0; step < 130; ++step) {
          const int last = step < 60 || step >= 110 ? first : second;
          REQUIRE(loss[static_cast<std::size_t>(step)].step == step);
          REQUIRE(loss[static_cast<std::size_t>(step)].value == static_cast<float>(last));
        }
      });
    }
  }
}

TEST_CASE("event_writer: names of other files count if they contain a time in seconds", "[train]") {
  in_world([](world& here) -> task<> {
    here.jump_wall_clock(leat::wall_time_point(1'500'000'000'500ms) - here.wall_clock());
    for (const char* name : {"events.out.tfevents.15000000009.x", "events.out.tfevents.16.x", "x",
                             "events.out.tfevents.99999999999999999999.x", "events.out.tfevents.",
                             "tfevents.1700000000.x", "events.out.tfevents.-700000000.x"}) {
      here.files().write_file(std::string("/d/") + name, "");
    }
    auto writer = co_await event_writer::open("/d");
    co_await writer.add_scalar("a", 1, 1);
    co_await writer.close();
    CHECK(writer.path() == "/d/events.out.tfevents.1500000000.sim.1.0");
    here.files().write_file("/d/events.out.tfevents.1600000000.machine.77", "");
    co_await writer.reopen();
    co_await writer.add_scalar("a", 2, 2);
    co_await writer.close();
    CHECK(writer.path() == "/d/events.out.tfevents.1600000001.sim.1.0");
  });
}

}  // namespace event_order_test
