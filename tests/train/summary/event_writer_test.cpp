#include "leat/train/summary/event_writer.hpp"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>

#include "leat/io/file/file.hpp"
#include "leat/queue/fifo_queue.hpp"
#include "leat/sim/world/world.hpp"
#include "leat/train/summary/event_reader.hpp"
#include "leat/train/summary/step_rate.hpp"
#include "support/hex.hpp"
#include "support/leat_test.hpp"
#include "support/records/event_files.hpp"
#include "support/temp_dir.hpp"
#include "train/in_world.hpp"

namespace event_writer_test {

using leat::event_writer;
using leat::session_log;
using leat::summary;
using leat::sim::world;
using leat_test::events_in;
using leat_test::events_of;
using leat_test::in_world;
using leat_test::words_of;
using texts = std::vector<std::string>;

task<> add(event_writer& writer, std::string tag, std::int64_t step = 0) {
  co_await writer.add_scalar(std::move(tag), 1, step);
}

std::string content(world& w, const std::string& path) {
  return w.files().read_file(path).value_or("");
}

TEST_CASE("event_writer: rejects an empty directory path", "[train]") {
  in_world([](world& here) -> task<> {
    const std::string said = co_await message_of(event_writer::open(""), errc::invalid_argument);
    CHECK(said.find("event_writer: path of the directory is empty: use") == 0);
    CHECK(here.files().files() == texts{});
  });
}

TEST_CASE("event_writer: writes the golden bytes of a file [81]", "[train]") {
  world w(1);
  w.run([](world& here) -> task<> {
    auto writer = co_await event_writer::open("/d");
    here.jump_wall_clock(leat::wall_time_point(1'500'000'000'500ms) - here.wall_clock());
    co_await writer.add_session_log(session_log::start, 123);
    co_await writer.close();
    CHECK(writer.path() == "/d/events.out.tfevents.1500000000.sim.1.0");
    const auto events = events_of(here);
    REQUIRE(events.size() == 2);
    CHECK(events[0].wall_time == 1'500'000'000);
    CHECK(events[1].wall_time == 1'500'000'000.5);
    CHECK(words_of(events) == texts{"version", "START 123"});
  });
  const std::string golden =
      "1800000000000000a37f4b2209000000c00b5ad6411a0d627261696e2e4576656e743a324ca9a464"
      "0f000000000000006d532b0909000020c00b5ad641107b3a0208017ee68814";
  const std::string bytes = content(w, "/d/events.out.tfevents.1500000000.sim.1.0");
  CHECK(bytes == leat_test::from_hex(golden));
}

TEST_CASE("event_writer: two writers in one second use two files without loss [82]", "[train]") {
  in_world([](world& here) -> task<> {
    auto first = co_await event_writer::open("/d");
    auto second = co_await event_writer::open("/d");
    co_await first.add_scalar("a", 1, 1);
    co_await second.add_scalar("b", 2, 1);
    co_await first.close();
    co_await second.close();
    CHECK(here.files().files().size() == 2);
    CHECK(first.path() != second.path());
    CHECK(words_of(events_of(here)).size() == 4);
  });
}

TEST_CASE("event_writer: the file name has host, process and wall time [82]", "[train]") {
  const temp_dir dir;
  leat::block_on([](std::string at) -> task<> {
    auto writer = co_await event_writer::open(at);
    CHECK(std::filesystem::is_empty(at));  // the first event creates the file
    co_await writer.add_scalar("a", 1, 1);
    co_await writer.close();
    const double now =
        std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
    const std::string name = std::filesystem::path(writer.path()).filename();
    CHECK(name.starts_with("events.out.tfevents."));
    CHECK(name.ends_with("." + std::to_string(::getpid()) + ".0"));
    const std::string time = name.substr(20, 10);
    CHECK(time.find_first_not_of("0123456789") == std::string::npos);
    const auto events = events_in(temp_dir::read(writer.path()));
    CHECK(words_of(events) == texts{"version", "a 1"});
    CHECK(std::abs(events[0].wall_time - now) < 60);
    CHECK(std::to_string(static_cast<std::int64_t>(events[0].wall_time)) == time);
  }(dir / "runs/1"));
}

TEST_CASE("event_writer: reopen() begins a new file unless the writer is open [83]", "[train]") {
  in_world([](world& here) -> task<> {
    auto writer = co_await event_writer::open("/d");
    co_await writer.reopen();
    co_await writer.add_session_log(session_log::start, 1);
    co_await writer.reopen();
    co_await writer.add_scalar("a", 1, 1);
    co_await writer.close();
    co_await writer.close();
    const std::string first = writer.path();
    CHECK(words_of(events_in(content(here, first))) == texts{"version", "START 1", "a 1"});
    here.jump_wall_clock(-1h);  // the second file still follows the first one
    co_await writer.reopen();
    CHECK(here.files().files().size() == 1);
    co_await writer.add_session_log(session_log::start, 2);
    co_await writer.close();
    CHECK(writer.path() > first);
    CHECK(words_of(events_in(content(here, writer.path()))) == texts{"version", "START 2"});
    CHECK(here.files().files().size() == 2);
    CHECK(here.files().open_files() == 0);
  });
}

TEST_CASE("event_writer: names a removed file, and reopen() begins a new one [85]", "[train]") {
  world w(1);
  w.run([](world& here) -> task<> {
    auto writer = co_await event_writer::open("/d");
    co_await writer.add_scalar("a", 1, 1);
    co_await writer.flush();
    const std::string first = writer.path();
    co_await leat::remove_file(first);
    co_await writer.add_scalar("b", 1, 2);
    CHECK(contains(co_await message_of(writer.flush(), errc::unknown),
                   first + ": event file was removed"));
    CHECK(contains(co_await message_of(add(writer, "c", 3), errc::unknown), first));
    CHECK(contains(co_await message_of(writer.close(), errc::unknown), first));
    co_await writer.reopen();
    co_await writer.add_scalar("d", 1, 4);
    co_await writer.close();
    CHECK(words_of(events_of(here)) == texts{"version", "b 2", "d 4"});  // accepted events are kept
    CHECK(writer.events_added() == 3);
    CHECK(writer.events_dropped() == 0);
  });
}

TEST_CASE("event_writer: writes metadata with the first value of its tag [86]", "[train]") {
  world w(1);
  const auto value = [](std::string tag, std::string metadata) {
    summary s;
    s.values.push_back({std::move(tag), 1.0F, std::move(metadata)});
    return s;
  };
  w.run([&](world& here) -> task<> {
    auto writer = co_await event_writer::open("/d");
    co_await writer.add_summary(value("a", "\x12\x01x"));
    co_await writer.add_summary(value("a", "\x12\x01y"));
    co_await writer.add_summary(value("b", "\x12\x01z"));
    co_await writer.close();
    co_await writer.reopen();
    co_await writer.add_summary(value("a", "\x12\x01x"));
    co_await writer.close();
    std::string found;
    for (const leat::event_record& e : events_of(here)) {
      if (const auto* const s = std::get_if<summary>(&e.what)) found += s->values[0].metadata + ";";
    }
    CHECK(found == "\x12\x01x;;\x12\x01z;;");
  });
}

TEST_CASE("event_writer: on a slow disk the queue fills and add waits [87]", "[train]") {
  world w(1, {.files = {.faults = {.slow = 1}}});
  w.run([](world& here) -> task<> {
    auto writer = co_await event_writer::open("/d");
    const leat::time_point begin = here.now();
    co_await writer.add_scalar("first", 1);  // is being written to the disk, which takes minutes
    for (int i = 0; i < 100; ++i) co_await leat::this_task::yield();
    for (int i = 0; i < 10; ++i) co_await writer.add_scalar("a" + std::to_string(i), 1);
    CHECK(here.now() == begin);
    leat::task_group group;
    group.spawn(add(writer, "late"));
    co_await leat::sleep_for(1s);
    CHECK(group.live_tasks() == 1);  // it waits
    group.request_stop();
    co_await group.join();
    co_await writer.add_scalar("eleventh", 1);
    CHECK(here.now() > begin + 1s);
    co_await writer.close();
    CHECK(writer.events_added() == 12);
    const auto words = words_of(events_of(here));
    REQUIRE(words.size() == 13);
    CHECK(words.back() == "eleventh");
    CHECK(std::find(words.begin(), words.end(), "late") == words.end());
  });
}

TEST_CASE("event_writer: close() with an empty queue ends at once [87]", "[train]") {
  in_world([](world& here) -> task<> {
    auto writer = co_await event_writer::open("/d");
    const leat::time_point begin = here.now();
    co_await writer.close();
    CHECK(here.now() - begin < 1s);
    CHECK(here.files().files().empty());  // no event, no file
    CHECK(writer.path().empty());
  });
}

TEST_CASE("event_writer: writes the first event at once, the next after the interval", "[train]") {
  in_world([](world& here) -> task<> {
    auto writer = co_await event_writer::open("/d");
    co_await writer.add_scalar("a", 1);
    co_await leat::sleep_for(1s);
    CHECK(words_of(events_of(here)) == texts{"version", "a"});
    co_await writer.add_scalar("b", 1);
    co_await writer.add_scalar("c", 1);
    co_await leat::sleep_for(118s);
    CHECK(words_of(events_of(here)).size() == 2);
    co_await leat::sleep_for(4s);
    CHECK(words_of(events_of(here)) == texts{"version", "a", "b", "c"});
    co_await writer.add_scalar("d", 1);
    co_await writer.flush();
    CHECK(words_of(events_of(here)).size() == 5);
    co_await writer.add_scalar("e", 1);
    co_await writer.close();
    CHECK(words_of(events_of(here)).size() == 6);
  });
}

TEST_CASE("event_writer: a full buffer is written without waiting for the interval", "[train]") {
  in_world([](world& here) -> task<> {
    leat::event_writer_options small;
    small.buffer_size = 1000;
    auto writer = co_await event_writer::open("/d", small);
    for (int i = 0; i < 200; ++i) co_await writer.add_scalar("a", 1, i);
    co_await leat::sleep_for(1s);
    CHECK(words_of(events_of(here)).size() > 150);
    co_await writer.close();
    CHECK(words_of(events_of(here)).size() == 201);
  });
}

TEST_CASE("event_writer: writes the events of a job in order [21, 29-34]", "[train]") {
  in_world([](world& here) -> task<> {
    auto writer = co_await event_writer::open("/d");
    leat::step_rate rate(here.now(), 123, "bar/foo");
    co_await writer.add_graph("graph");
    co_await writer.add_meta_graph("meta");
    co_await writer.add_session_log(session_log::start, 123);
    summary values;
    values.add_scalar("c1", 1).add_scalar("c2", 2).add_scalar("c3", 3);
    co_await writer.add_summary(std::move(values), 123);
    co_await leat::sleep_for(120s);
    co_await writer.add_summary(rate.sample(here.now(), 123), 123);
    co_await writer.add_session_log(session_log::checkpoint, 123, "/d/model.ckpt");
    co_await writer.add_session_log(session_log::stop);
    co_await writer.close();
    const auto events = events_of(here);
    CHECK(words_of(events) == texts{"version", "graph", "meta graph", "START 123", "c1,c2,c3 123",
                                    "bar/foo/sec 123", "CHECKPOINT 123", "STOP"});
    const auto& sample = std::get<summary>(events[5].what).values.at(0);
    CHECK(std::get<float>(sample.value) == 0.0F);  // no step was taken
    CHECK(std::get<session_log>(events[6].what).checkpoint_path == "/d/model.ckpt");
    CHECK(events[7].step == 0);
  });
}

TEST_CASE("event_writer: two scopes write two complete files [27]", "[train]") {
  in_world([](world& here) -> task<> {
    auto writer = co_await event_writer::open("/d");
    for (int i = 0; i < 2; ++i) {
      co_await writer.reopen();
      co_await writer.add_graph("g");
      co_await writer.add_scalar("v", 1, i + 1);
      co_await writer.add_session_log(session_log::stop);
      co_await writer.close();
      CHECK(words_of(events_in(content(here, writer.path()))) ==
            texts{"version", "graph", "v " + std::to_string(i + 1), "STOP"});
    }
    CHECK(here.files().files().size() == 2);
  });
}

TEST_CASE("event_writer: rejects invalid arguments and adds nothing", "[train]") {
  in_world([](world& here) -> task<> {
    const auto open = [](leat::event_writer_options o) {
      return message_of(event_writer::open("/d", std::move(o)), errc::invalid_argument);
    };
    CHECK(contains(co_await open({.max_queue = 0}), "max_queue"));
    CHECK(contains(co_await open({.suffix = "/../x"}), "suffix"));
    CHECK(contains(co_await open({.host = "a/b"}), "host"));
    CHECK(contains(co_await open({.flush_interval = -1s}), "flush_interval"));

    auto writer = co_await event_writer::open("/d");
    const auto histogram = [](event_writer& to) -> task<> {
      const std::vector<double> values{1, std::numeric_limits<double>::quiet_NaN()};
      co_await to.add_histogram("w", values);
    };
    CHECK(contains(co_await message_of(histogram(writer), errc::invalid_argument),
                   "histogram 'w': NaN cannot be counted"));
    CHECK(contains(co_await message_of(add(writer, "\xff"), errc::invalid_argument), "UTF-8"));
    const auto run_data = [](event_writer& to) -> task<> {
      co_await to.add_run_metadata("m", "tag", 1);
    };
    co_await run_data(writer);
    CHECK(contains(co_await message_of(run_data(writer), errc::invalid_argument),
                   "/d: tag 'tag' of run metadata was already used"));
    const auto bytes = [](event_writer& to) -> task<> {
      co_await to.add_summary_bytes("\x0a\x05", 1);
    };
    CHECK(co_await code_of(bytes(writer)) == errc::data_loss);
    co_await writer.close();
    CHECK(writer.events_added() == 1);
    CHECK(here.files().files().size() == 1);
  });
}

TEST_CASE("event_writer: destruction without close() fails an assertion", "[train]") {
  const std::string said = leat_test::abort_message([] {
    world w(1);
    w.run([](world&) -> task<> { const auto writer = co_await event_writer::open("/d"); });
  });
  CHECK(contains(said, "event_writer destroyed while open"));
}

TEST_CASE("with_event_writer: closes on every path and throws the first error", "[train]") {
  in_world([](world& here) -> task<> {
    const auto fails = [](event_writer& writer) -> task<> {
      co_await writer.add_scalar("a", 1, 1);
      throw leat::failure(errc::aborted, "in the body");
    };
    CHECK(contains(co_await message_of(leat::with_event_writer("/d", fails), errc::aborted),
                   "in the body"));
    CHECK(words_of(events_of(here)) == texts{"version", "a 1"});
    CHECK(here.files().open_files() == 0);
  });
}

TEST_CASE("event_writer: a stop of the task that uses it does not lose what was added", "[train]") {
  in_world([](world& here) -> task<> {
    leat::task_group group;
    group.spawn([]() -> task<> {
      co_await leat::with_event_writer("/d", [](event_writer& writer) -> task<> {
        co_await writer.add_scalar("a", 1, 1);
        co_await leat::sleep_for(1s);
        co_await writer.add_scalar("b", 1, 2);
        co_await leat::sleep_for(1h);
      });
    }());
    co_await leat::sleep_for(10s);
    group.request_stop();
    co_await group.join();
    CHECK(words_of(events_of(here)) == texts{"version", "a 1", "b 2"});
  });
}

// Tasks on three schedulers, each with its own tag.
task<> add_from(std::vector<leat::scheduler*> threads, event_writer& writer, int count) {
  leat::task_group group;
  const auto many = [](event_writer& to, std::string tag, int n) -> task<> {
    for (int i = 1; i <= n; ++i) {
      co_await to.add_scalar(tag, i, i);
      if (i % 10 == 0) co_await to.flush();
    }
  };
  for (std::size_t t = 0; t < threads.size(); ++t) {
    group.spawn_on(*threads[t], many(writer, std::to_string(t), count));
  }
  co_await group.join();
}

task<> write_and_check(std::string directory, std::vector<leat::scheduler*> threads, int count) {
  co_await leat::with_event_writer(directory, [&](event_writer& writer) -> task<> {
    co_await add_from(threads, writer, count);
  });
  const leat::event_run run = co_await leat::read_events(directory);
  CHECK(run.series.scalars.size() == threads.size());
  bool in_order = true;
  for (const auto& [tag, points] : run.series.scalars) {
    in_order &= points.size() == static_cast<std::size_t>(count);
    for (std::size_t i = 0; i < points.size(); ++i) {
      in_order &= points[i].step == static_cast<std::int64_t>(i) + 1;
    }
  }
  CHECK(in_order);
}

TEST_CASE("event_writer: writes each event of several simulated threads once", "[train]") {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    world w(seed, {.threads = 3});
    w.run([](world& here) {
      return write_and_check("/d", {&here.thread(0), &here.thread(1), &here.thread(2)}, 20);
    });
  }
}

TEST_CASE("event_writer: a world that fails while a writer is open reports its error", "[train]") {
  world w(1);
  leat::fifo_queue<int> never(1, "never");
  CHECK_THROWS_AS(w.run([&](world&) -> task<> {
    const auto body = [&](event_writer& writer) -> task<> {
      co_await add(writer, "a");
      co_await never.pop();
    };
    co_await leat::with_event_writer("/d", body);
  }),
                  leat::sim::deadlock);
  CHECK(w.files().open_files() == 0);
}

TEST_CASE("event_writer: writes each event of several threads once", "[train]") {
  const temp_dir dir;
  leat::runtime rt({.threads = 3});
  rt.block_on(write_and_check(
      dir / "run", {&rt.get_scheduler(0), &rt.get_scheduler(1), &rt.get_scheduler(2)}, 500));
}

}  // namespace event_writer_test
