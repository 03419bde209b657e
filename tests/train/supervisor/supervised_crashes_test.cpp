// A supervised job with its pipeline on a machine that stops: the invariants that the scenario
// `supervising` checks under many seeds, and planted bugs that it must detect.

#include <algorithm>

#include "leat/io/file/file.hpp"
#include "leat/sim/world/sweep.hpp"
#include "support/effort.hpp"
#include "support/leat_test.hpp"
#include "train/interrupted_job.hpp"
#include "train/supervised.hpp"

namespace supervised_crashes_test {

using leat::sim::fault;
using leat::sim::fault_rates;
using leat::sim::world;
using leat_test::interrupted_job;
using leat_test::learn_up_to;
using leat_test::learner;
using leat_test::planted;
using leat_test::scaled_count;

// The counts of a sweep.
struct totals {
  int starts = 0;
  int crashes = 0;
  int resumed = 0;
  int read_by_worker = 0;
};

leat::sim::world_options world_with(const fault_rates& rates) {
  return {.threads = 2, .files = {.faults = rates}};
}

totals sweep_of(std::uint64_t seeds, const fault_rates& rates, planted wrong) {
  totals sum;
  const auto body = [&](world& w) -> leat::task<> {
    w.check_frames();
    interrupted_job job(w, wrong);
    co_await job.run();
    sum.starts += job.starts();
    sum.crashes += job.crashes();
    sum.resumed += job.resumed();
    sum.read_by_worker += job.read_by_worker();
  };
  leat::sim::sweep(body, {.count = seeds, .world = world_with(rates), .shrink_runs = 0});
  return sum;
}

TEST_CASE("supervisor: a job whose machine stops at any time learns each element once", "[train]") {
  const std::uint64_t seeds = scaled_count(200);
  const totals met = sweep_of(seeds, {.crash = 0.01}, planted::nothing);
  const int least = static_cast<int>(seeds);
  CHECK(met.crashes > least / 2);
  CHECK(met.resumed > least);
  CHECK(met.read_by_worker > 0);
}

TEST_CASE("supervisor: a job whose machine stops and whose device fails learns each element once",
          "[train]") {
  const std::uint64_t seeds = scaled_count(100);
  const totals met = sweep_of(
      seeds,
      {.short_transfer = 0.05, .io_error = 0.005, .no_space = 0.01, .slow = 0.01, .crash = 0.005},
      planted::nothing);
  CHECK(met.starts > 2 * static_cast<int>(seeds));
}

// The machine stops at each change of the device in turn.
TEST_CASE("supervisor: a job resumes after the machine stops before or after any change",
          "[train]") {
  constexpr int stride = leat_test::slow_build ? 20 : 1;
  int crashes = 0;
  for (const fault f : {fault::crash_before, fault::crash_after}) {
    bool reached = true;
    for (std::uint64_t n = 1; reached; n += stride) {
      world w(4, {.files = {.plan = leat::sim::planned_fault{n, f}}});
      w.run([&](world& here) -> leat::task<> {
        interrupted_job job(here);
        co_await job.run();
        crashes += job.crashes();
      });
      reached = w.files().calls() >= n;
    }
  }
  CHECK(crashes > (leat_test::slow_build ? 2 : 100));  // some changes follow the end
}

// A killed program could not sync its last checkpoint to the device. The next program restores it,
// makes no step and ends normally, which must make the checkpoint durable.
TEST_CASE("supervisor: a restored checkpoint that is not saved again survives a machine stop",
          "[train]") {
  for (std::uint64_t seed = 0; seed < scaled_count(50); ++seed) {
    world w(seed);
    std::int64_t last = 0;
    const auto start = [&](std::int64_t learn_to, bool durable) {
      w.run([&](world&) -> leat::task<> {
        learner l;
        leat::supervisor_options o = l.options();
        o.write_events = false;
        o.saver.durable = durable;
        o.save_model_interval = std::chrono::seconds(seed % 2);
        co_await learn_up_to(l, std::move(o), learn_to);
        last = l.step;
      });
    };
    start(3, false);
    start(3, true);
    w.files().crash();
    w.files().restart();
    start(0, true);
    REQUIRE(last == 3);
  }
}

// If the sync fails, a second sync may succeed although data is lost.
TEST_CASE("supervisor: saves a restored checkpoint again if it cannot be made durable", "[train]") {
  int warned = 0;
  for (std::uint64_t seed = 0; seed < scaled_count(10); ++seed) {
    bool reached = true;
    for (std::uint64_t n = 1; reached; ++n) {
      world w(seed, {.files = {.plan = leat::sim::planned_fault{n, fault::io_error}}});
      std::int64_t last = 0;
      std::int64_t saved = 0;
      const auto start = [&](std::int64_t learn_to, bool durable) -> leat::task<> {
        learner l;
        leat::supervisor_options o = l.options();
        o.write_events = false;
        o.saver.durable = durable;
        o.save_model_interval = {};
        const std::string what = co_await message_of(learn_up_to(l, std::move(o), learn_to));
        last = l.step;
        if (durable && what.empty()) saved = std::max(saved, last);
        for (const std::string& each : l.warnings) warned += contains(each, "is saved again");
      };
      w.run([&](world& here) -> leat::task<> {
        co_await start(3, false);
        co_await start(0, true);
        co_await start(0, true);
        here.files().crash();
        here.files().restart();
        co_await start(0, true);
        if (last < saved) co_await start(0, true);  // the fault was in the previous start
        REQUIRE(last >= saved);
      });
      reached = w.files().calls() >= n;
    }
  }
  CHECK(warned > 0);
}

// The machine may stop after the rename of a checkpoint and before the rename of the list.
TEST_CASE("supervisor: restores a checkpoint that is not listed yet, and lists it", "[train]") {
  for (const int interval : {0, 600}) {
    world w(1);
    w.run([&](world& here) -> leat::task<> {
      const auto run = [&](std::int64_t learn_to) -> leat::task<> {
        learner l;
        leat::supervisor_options o = l.options();
        o.save_model_interval = std::chrono::seconds(interval);
        co_await learn_up_to(l, std::move(o), learn_to);
        CHECK(l.step == (learn_to == 2 ? 2 : 3));
      };
      co_await run(2);
      const std::string before = here.files().read_file("/run/checkpoint").value();
      co_await run(3);
      const std::string third = here.files().read_file("/run/model.ckpt-3").value();
      here.files().write_file("/run/checkpoint", before);
      co_await leat::sleep_for(std::chrono::milliseconds(1));
      here.files().write_file("/run/model.ckpt-3", third);
      co_await run(0);
      const std::string listed = here.files().read_file("/run/checkpoint").value();
      CHECK(listed.starts_with("model_checkpoint_path: \"model.ckpt-3\""));
    });
  }
}

TEST_CASE("supervisor: does not save a restored state again, for any max_to_keep", "[train]") {
  const std::vector<std::optional<std::size_t>> numbers = {std::nullopt, 0, 5};
  for (const std::optional<std::size_t>& kept : numbers) {
    world w(1);
    w.run([&](world& here) -> leat::task<> {
      const auto run = [&](std::int64_t learn_to) -> leat::task<> {
        learner l;
        leat::supervisor_options o = l.options();
        o.saver.max_to_keep = kept;
        o.save_model_interval = std::chrono::seconds(600);
        co_await learn_up_to(l, std::move(o), learn_to);
        CHECK(l.step == 3);
      };
      co_await run(3);
      const leat::file_status saved = co_await leat::get_status("/run/model.ckpt-3");
      co_await leat::sleep_for(std::chrono::seconds(1));
      co_await run(0);
      const leat::file_status after = co_await leat::get_status("/run/model.ckpt-3");
      INFO("kept: " << (kept ? static_cast<int>(*kept) : -1));
      CHECK(after.modified_ns == saved.modified_ns);
      CHECK(here.files().read_file("/run/checkpoint"));
    });
  }
}

std::string found_out(planted wrong) {
  try {
    sweep_of(300, {.crash = 0.01}, wrong);
  } catch (const leat::sim::seed_failed& e) {
    return e.what();
  }
  return "nothing";
}

TEST_CASE("supervisor: the test detects a job that loses a checkpoint", "[train]") {
  const std::string lost = found_out(planted::no_sync);
  CHECK((contains(lost, "is corrupt") || contains(lost, "it begins anew over what was saved")));
  CHECK(contains(found_out(planted::no_input), "something else is learnt, or is twice"));
  CHECK_THAT(found_out(planted::half_steps),
             Catch::Contains("something else is learnt, or is twice"));
  CHECK(contains(found_out(planted::other_place), "it begins anew over what was saved"));
}

}  // namespace supervised_crashes_test
