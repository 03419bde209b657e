// The order of a save: first the events, then the checkpoint, then the callback.

#include <algorithm>

#include "leat/codec/event/event.hpp"
#include "leat/io/file/file.hpp"
#include "leat/train/checkpoint/saver.hpp"
#include "leat/train/supervisor/supervisor.hpp"
#include "support/effort.hpp"
#include "support/insist.hpp"
#include "train/supervised.hpp"

namespace supervisor_saves_test {

using namespace leat_test;
using leat::supervisor;

leat::supervisor_options without_services(learner& l) {
  leat::supervisor_options o = l.options();
  o.save_model_interval = leat::duration::zero();
  o.save_summaries_interval = leat::duration::zero();
  return o;
}

task<> learn_and_tell(supervisor& sv, learner& l, int steps) {
  for (int i = 0; i < steps; ++i) {
    l.learn();
    co_await sv.summary_computed(leat::summary().add_scalar("loss", l.weight));
  }
}

bool has_losses_up_to(const words& events, std::int64_t step) {
  for (std::int64_t i = 1; i <= step; ++i) {
    const std::string loss = "loss " + std::to_string(i);
    if (std::ranges::find(events, loss) == events.end()) return false;
  }
  return true;
}

TEST_CASE("supervisor: when a checkpoint is saved, the summaries of its steps are in the file",
          "[train]") {
  in_world([](leat::sim::world& w) -> task<> {
    learner l;
    supervisor sv(without_services(l));
    co_await sv.managed([&]() -> task<> {
      for (int i = 0; i < 3; ++i) {
        co_await learn_and_tell(sv, l, 25);  // more than the capacity of the writer's queue
        co_await sv.save();
        CHECK(has_losses_up_to(events_in_words(w), l.step));
      }
    });
  });
}

task<> learn_and_save(leat::sim::world&) {
  learner l;
  supervisor sv(without_services(l));
  co_await sv.managed([&]() -> task<> {
    for (int i = 0; i < 3; ++i) {
      co_await learn_and_tell(sv, l, 2);
      co_await sv.save();
    }
  });
}

// The machine stops before and after each change of the device.
TEST_CASE("supervisor: after a crash, each step of the restored checkpoint has its summary",
          "[train]") {
  int restored_any = 0;
  for (const auto f : {leat::sim::fault::crash_before, leat::sim::fault::crash_after}) {
    bool reached = true;
    for (std::uint64_t n = 1; reached; n += leat_test::slow_build ? 20 : 1) {
      leat::sim::world w(n, {.files = {.plan = leat::sim::planned_fault{n, f}}});
      succeeds([&] { w.run(&learn_and_save); });
      reached = w.files().calls() >= n;
      if (!reached) break;
      w.files().restart();
      w.run([&](leat::sim::world& here) -> task<> {
        learner after;
        leat::saver s = co_await leat::saver::open("/run", after.state);
        const auto path = co_await s.restore_latest();
        if (!path) co_return;
        ++restored_any;
        CHECK(has_losses_up_to(events_in_words(here), after.step));
      });
    }
  }
  CHECK(restored_any > 0);
}

TEST_CASE("supervisor: saves a checkpoint and throws if events cannot be written", "[train]") {
  in_world([](leat::sim::world& w) -> task<> {
    learner l;
    supervisor sv(without_services(l));
    std::string why;
    const std::string leaves = co_await message_of(sv.managed([&]() -> task<> {
      co_await learn_and_tell(sv, l, 1);
      co_await sv.save();
      co_await leat::remove_file(sv.summary_writer()->path());
      co_await learn_and_tell(sv, l, 1);
      why = co_await message_of(sv.save());
    }));
    CHECK(contains(why, "event file was removed"));
    CHECK(contains(leaves, "event file was removed"));
    CHECK(has_file(w, "/run/model.ckpt-2"));
    const std::string state = w.files().read_file("/run/checkpoint").value();
    CHECK(contains(state, "model_checkpoint_path: \"model.ckpt-2\""));
  });
}

TEST_CASE("supervisor: awaits on_saved after each periodic, explicit and final save", "[train]") {
  in_world([](leat::sim::world& w) -> task<> {
    learner l;
    leat::supervisor_options o = without_services(l);
    std::vector<std::pair<std::string, std::optional<std::int64_t>>> saved;
    o.on_saved = [&](std::string path, std::optional<std::int64_t> step) -> task<> {
      CHECK(has_file(w, path));
      co_await leat::sleep_for(std::chrono::seconds(1));
      saved.emplace_back(std::move(path), step);
    };
    supervisor sv(std::move(o));
    co_await sv.managed([&]() -> task<> {
      l.learn();
      co_await sv.save();
      CHECK(saved.size() == 1);
      l.learn();
    });
    REQUIRE(saved.size() == 2);
    CHECK(saved[0] == std::pair(std::string("/run/model.ckpt-1"), std::optional<std::int64_t>(1)));
    CHECK(saved[1] == std::pair(std::string("/run/model.ckpt-2"), std::optional<std::int64_t>(2)));
  });
}

TEST_CASE("supervisor: save() throws an exception of on_saved, and the checkpoint remains",
          "[train]") {
  in_world([](leat::sim::world& w) -> task<> {
    learner l;
    leat::supervisor_options o = without_services(l);
    o.on_saved = [](const std::string&, std::optional<std::int64_t>) -> task<> {
      throw leat::failure(leat::errc::unavailable, "no copy");
      co_return;
    };
    supervisor sv(std::move(o));
    const std::string why = co_await message_of(sv.managed([&]() -> task<> {
      l.learn();
      co_await sv.save();
    }));
    CHECK(contains(why, "no copy"));
    CHECK(has_file(w, "/run/model.ckpt-1"));
  });
}

words event_files(leat::sim::world& w) {
  words found;
  for (const std::string& path : w.files().files()) {
    if (contains(path, "tfevents")) found.push_back(path);
  }
  return found;
}

TEST_CASE("supervisor: a rejected start leaves no event file in the other program's directory",
          "[train]") {
  in_world([](leat::sim::world& w) -> task<> {
    {
      learner first;
      leat::supervisor_options o = without_services(first);
      o.write_events = false;
      supervisor sv(std::move(o));
      co_await sv.managed([&]() -> task<> {
        first.learn();
        co_return;
      });
    }
    const auto before = w.files().files();
    learner l;
    leat::checkpoint_registry other("another program");
    other.add("global_step", l.step);
    leat::supervisor_options o = l.options();
    o.state = &other;
    supervisor sv(std::move(o));
    const std::string why = co_await message_of(sv.managed([]() -> task<> { co_return; }));
    CHECK(contains(why, "checkpoint belongs to 'learner', but this program is 'another program'"));
    CHECK(contains(why, "checkpoint_registry(\"learner\")"));
    CHECK(w.files().files() == before);
  });
}

TEST_CASE("supervisor: starts on a full disk leave no event files", "[train]") {
  constexpr std::size_t size = 64 << 10;
  leat::sim::world w(1, {.files = {.size = size}});
  w.run([](leat::sim::world& here) -> task<> {
    here.files().write_file("/full", std::string(size, 'x'));
    for (int i = 0; i < 3; ++i) {
      learner l;
      supervisor sv(l.options());
      const std::string why = co_await message_of(sv.managed([]() -> task<> { co_return; }));
      CHECK(contains(why, "No space left on device"));
      CHECK(event_files(here).empty());
      co_await leat::sleep_for(std::chrono::seconds(2));
    }
    here.files().write_file("/full", "");
    learner l;
    supervisor sv(l.options());
    co_await sv.managed([]() -> task<> { co_return; });
    CHECK(event_files(here).size() == 1);
  });
}

}  // namespace supervisor_saves_test
