// describe_bottleneck() on small pipelines with a known bottleneck: each stage takes a fixed
// virtual time for a record.

#include <algorithm>
#include <array>
#include <functional>

#include "leat/pipeline/metrics/stage_metrics.hpp"
#include "leat/queue/fifo_queue.hpp"
#include "leat/sim/world/world.hpp"
#include "pipeline/lines_pipeline.hpp"
#include "support/effort.hpp"
#include "support/leat_test.hpp"
#include "support/temp_dir.hpp"

namespace describe_bottleneck_test {

using leat::stage_metrics;
using leat::stage_wait_timer;
using leat::sim::world;
using numbers = leat::fifo_queue<int>;

// The time of each stage per record.
struct pace {
  leat::duration reader;
  leat::duration decoder;
  leat::duration consumer;
  int records = 200;
  int decoders = 1;
  std::size_t capacity = 4;
};

// Reader, decoders, consumer, and two queues between them.
class pipeline {
 public:
  explicit pipeline(const pace& p) : pace_(p) {}

  task<> run() {
    leat::scheduler& sched = leat::this_task::get_scheduler();
    const leat::time_point begin = sched.now();
    leat::task_group group;
    start(group);
    co_await group.join();
    elapsed_ = sched.now() - begin;
  }

  void start(leat::task_group& group) {
    group.spawn(read());
    for (int i = 0; i < pace_.decoders; ++i) group.spawn(decode());
    group.spawn(consume());
  }

  [[nodiscard]] std::string describe_bottleneck() const {
    return leat::describe_bottleneck(stages_, elapsed_);
  }
  [[nodiscard]] std::string describe_bottleneck(leat::duration elapsed,
                                                leat::time_point now) const {
    return leat::describe_bottleneck(stages_, elapsed, now);
  }

 private:
  static task<bool> put(stage_metrics& stage, leat::scheduler& sched, numbers& to, int x) {
    const stage_wait_timer w(stage, sched, stage_wait_timer::for_output);
    const bool in = co_await to.push(x);
    co_return in;
  }
  static task<std::optional<int>> take(stage_metrics& stage, leat::scheduler& sched,
                                       numbers& from) {
    const stage_wait_timer w(stage, sched, stage_wait_timer::for_input);
    const std::optional<int> x = co_await from.pop();
    co_return x;
  }

  task<> read() {
    leat::scheduler& sched = leat::this_task::get_scheduler();
    const leat::stage_work_timer here(reader_, sched);
    reader_.add_task();
    for (int i = 0; i < pace_.records; ++i) {
      co_await leat::sleep_for(pace_.reader);
      reader_.add(1, 4);
      const bool in = co_await put(reader_, sched, raw_, i);
      if (!in) break;
    }
    raw_.close();
  }

  task<> decode() {
    leat::scheduler& sched = leat::this_task::get_scheduler();
    const leat::stage_work_timer here(decoder_, sched);
    decoder_.add_task();
    for (;;) {
      const std::optional<int> x = co_await take(decoder_, sched, raw_);
      if (!x) break;
      co_await leat::sleep_for(pace_.decoder);
      decoder_.add(1, 4);
      const bool in = co_await put(decoder_, sched, decoded_, *x);
      if (!in) break;
    }
    if (++ended_ == pace_.decoders) decoded_.close();
  }

  task<> consume() {
    leat::scheduler& sched = leat::this_task::get_scheduler();
    const leat::stage_work_timer here(consumer_, sched);
    consumer_.add_task();
    for (;;) {
      const std::optional<int> x = co_await take(consumer_, sched, decoded_);
      if (!x) break;
      co_await leat::sleep_for(pace_.consumer);
      consumer_.add(1, 4);
    }
  }

  const pace pace_;
  int ended_ = 0;
  numbers raw_{pace_.capacity, "raw"};
  numbers decoded_{pace_.capacity, "decoded"};
  stage_metrics reader_{"reader"};
  stage_metrics decoder_{"decoder"};
  stage_metrics consumer_{"consumer"};
  const std::array<const stage_metrics*, 3> stages_{&reader_, &decoder_, &consumer_};
  leat::duration elapsed_{};
};

task<std::string> verdict_on(pace p) {
  pipeline all(p);
  co_await all.run();
  co_return all.describe_bottleneck();
}

LEAT_TEST("describe_bottleneck: names the slowest stage and what the others waited for",
          "[pipeline]") {
  const std::pair<pace, std::string> slowest[] = {
      {{10ms, 2ms, 1ms},
       "The bottleneck is 'reader': its tasks were busy 100 % of the time, while 'decoder' waited "
       "80 % for input."},
      {{2ms, 10ms, 1ms},
       "The bottleneck is 'decoder': its tasks were busy 100 % of the time, while 'reader' waited "
       "77 % for free capacity and 'consumer' waited 90 % for input."},
      {{1ms, 2ms, 10ms},
       "The bottleneck is 'consumer': its tasks were busy 100 % of the time, while 'decoder' "
       "waited 77 % for free capacity."},
      // The queues have capacity for everything, and a stage that ended long ago limits no other.
      {{1ms, 1ms, 10ms, 200, 1, 1000},
       "The bottleneck is 'consumer': its tasks were busy 100 % of the time."}};
  for (const auto& [p, expected] : slowest) {
    const std::string text = co_await verdict_on(p);
    CHECK(text == expected);
  }
}

LEAT_TEST("describe_bottleneck: enough decoders are not the bottleneck", "[pipeline]") {
  for (const int decoders : {4, 2}) {
    const pace p{5ms, 16ms, 1ms, 200, decoders};
    const std::string text = co_await verdict_on(p);
    CHECK(contains(text, decoders == 4 ? "bottleneck is 'reader'" : "bottleneck is 'decoder'"));
  }
}

LEAT_TEST("describe_bottleneck: reports all stages or some stages as busy", "[pipeline]") {
  const pace of_all{5ms, 5ms, 5ms};
  const std::string all = co_await verdict_on(of_all);
  CHECK(contains(all, "The pipeline is balanced: the tasks of 'reader', 'decoder' and 'consumer'"));
  const pace of_two{5ms, 5ms, 1ms};
  const std::string two = co_await verdict_on(of_two);
  CHECK(contains(two, "The bottlenecks are 'reader' and 'decoder': their tasks were busy"));
}

TEST_CASE("describe_bottleneck: result is equal under any schedule", "[pipeline]") {
  const auto judged = [](std::uint64_t seed, pace p) {
    std::string text;
    world w(seed, {.threads = 1});
    w.run([&](world&) -> task<> { text = co_await verdict_on(p); });
    return text;
  };
  for (std::uint64_t seed = 0; seed < leat_test::scaled_count(100); ++seed) {
    REQUIRE(contains(judged(seed, {10ms, 2ms, 1ms}), "bottleneck is 'reader'"));
    REQUIRE(contains(judged(seed, {2ms, 10ms, 1ms}), "bottleneck is 'decoder'"));
    REQUIRE(contains(judged(seed, {1ms, 2ms, 10ms}), "bottleneck is 'consumer'"));
  }
}

// ----------------------------------------------------------------- running and ended pipelines

LEAT_TEST("describe_bottleneck: names the stage that blocks a stuck pipeline", "[pipeline]") {
  leat::scheduler& sched = leat::this_task::get_scheduler();
  pipeline slow({1h, 1ms, 1ms});
  leat::task_group group;
  slow.start(group);
  co_await leat::sleep_for(10s);
  const std::string text = slow.describe_bottleneck(10s, sched.now());
  group.request_stop();
  co_await group.join();
  CHECK(contains(text, "The bottleneck is 'reader': its tasks were busy 100 %"));
  CHECK(contains(text, "'decoder' waited 100 % for input"));
}

TEST_CASE("describe_bottleneck: names a stage that has not started", "[pipeline]") {
  stage_metrics reader("reader");
  stage_metrics consumer("consumer");
  const stage_metrics* const stages[] = {&reader, &consumer};
  CHECK(leat::describe_bottleneck({}, 10s) == "No stages to compare.");
  CHECK(contains(leat::describe_bottleneck(stages, 10s), "Nothing has run yet"));
  reader.add_task();
  consumer.add_task();
  consumer.add_input_wait(9s);
  CHECK(leat::describe_bottleneck(stages, 10s) ==
        "The bottleneck is 'reader': no record has passed through it.");
  CHECK(contains(leat::describe_bottleneck(stages, 0s), "Nothing has run yet"));
}

TEST_CASE("describe_bottleneck: a single stage, busy or idle", "[pipeline]") {
  stage_metrics busy("reader");
  busy.add(10, 10);
  busy.add_input_wait(1s);
  const stage_metrics* const one[] = {&busy};
  CHECK(leat::describe_bottleneck(one, 10s) ==
        "The bottleneck is 'reader': its tasks were busy 90 % of the time.");
  busy.add_input_wait(6s);
  CHECK(leat::describe_bottleneck(one, 10s) ==
        "The bottleneck is the input of 'reader', which waited 70 % of the time for it.");
  stage_metrics full("writer");
  full.add(10, 10);
  full.add_output_wait(8s);
  const stage_metrics* const other[] = {&full};
  CHECK(leat::describe_bottleneck(other, 10s) ==
        "The bottleneck is the consumer of 'writer', which waited 80 % of the time for free "
        "capacity.");
}

// Stages that have handled ten records each, with four decoders.
struct worked_stages {
  worked_stages() {
    for (stage_metrics* s : {&reader, &decoder, &consumer}) {
      s->add(10, 10);
      s->add_task();
    }
    for (int i = 0; i < 3; ++i) decoder.add_task();
  }
  stage_metrics reader{"reader"};
  stage_metrics decoder{"decoder"};
  stage_metrics consumer{"consumer"};
  const std::array<const stage_metrics*, 3> all{&reader, &decoder, &consumer};
};

TEST_CASE("describe_bottleneck: names the stage for which others on its thread wait",
          "[pipeline]") {
  worked_stages s;
  s.reader.add_output_wait(7s);
  s.decoder.add_input_wait(15s);  // 25 % of the time of each
  s.decoder.add_output_wait(15s);
  s.consumer.add_input_wait(8s);
  CHECK(leat::describe_bottleneck(s.all, 10s) ==
        "The bottleneck is 'decoder': its tasks were busy 25 % of the time, while 'reader' waited "
        "70 % for free capacity and 'consumer' waited 80 % for input.");
}

TEST_CASE("describe_bottleneck: names the stage with nearly all of the work on a shared thread",
          "[pipeline]") {
  worked_stages s;
  s.reader.add_output_wait(4s);  // of 10 s: too short to be conclusive
  s.reader.add_input_wait(4s);
  s.decoder.add_input_wait(30s);
  s.decoder.add_output_wait(3s);
  s.consumer.add_input_wait(10s);
  CHECK(leat::describe_bottleneck(s.all, 10s) ==
        "The bottleneck is 'decoder': its tasks were busy 78 % of the time that any task was, and "
        "waited for a thread; more threads let them work at the same time.");
}

// Uses the processor instead of waiting.
struct slowly {
  leat::duration time;

  leat_test::texts operator()(leat_test::texts lines) const {
    const auto end = std::chrono::steady_clock::now() + time;
    while (std::chrono::steady_clock::now() < end) {
    }
    return lines;
  }
};

task<std::string> verdict_with(std::size_t workers, leat::pipeline_options options, slowly parse,
                               std::size_t batches) {
  const temp_dir folder;
  const std::string path = folder.write("lines", std::string(5 * batches, '\n'));
  auto p = leat_test::lines_of({.files = {path}}, std::move(options))
               .batch({.batch_size = 5})
               .map("parse", parse, {.workers = workers});
  const leat::scheduler& sched = leat::this_task::get_scheduler();
  const leat::time_point begin = sched.now();
  while (auto next = co_await p.next()) {
  }
  const leat::duration elapsed = sched.now() - begin;
  const auto stages = p.stages();
  co_return leat::describe_bottleneck(stages, elapsed);
}

TEST_CASE("describe_bottleneck: names a function that computes, with any number of workers",
          "[pipeline]") {
  const std::size_t workers = GENERATE(0U, 1U, 4U, 8U);
  const std::size_t threads = GENERATE(0U, 1U, 2U);
  leat::runtime rt({.threads = std::max<std::size_t>(threads, 1)});
  leat::pipeline_options options;
  if (threads > 0) options.workers = leat::schedulers_of(rt);
  // If other programs keep the processors busy, a woken thread starts late, and a function that is
  // shorter than this delay is not the bottleneck. A longer function must be.
  std::string text;
  for (leat::duration time = 200us; time < 20ms; time *= 2) {
    text = leat::block_on(
        verdict_with(workers, options, {time}, static_cast<std::size_t>(80ms / time)));
    if (contains(text, "The bottleneck is 'parse'")) break;
  }
  INFO(workers << " workers, " << threads << " threads: " << text);
  CHECK(contains(text, "The bottleneck is 'parse'"));
}

// The consumer lets other tasks run meanwhile. Their work does not count as its own.
TEST_CASE("describe_bottleneck: names a function that takes longer than a loop iteration",
          "[pipeline]") {
  const std::size_t workers = GENERATE(1U, 2U);
  const std::string text = leat::block_on(verdict_with(workers, {}, {8ms}, 40));
  INFO(workers << " workers: " << text);
  CHECK(contains(text, "The bottleneck is 'parse'"));
}

TEST_CASE("describe_bottleneck: names no stage if all stages wait for each other", "[pipeline]") {
  stage_metrics reader("reader");
  stage_metrics consumer("consumer");
  reader.add(10, 10);
  reader.add_output_wait(6s);
  consumer.add(10, 10);
  consumer.add_input_wait(7s);
  const stage_metrics* const stages[] = {&reader, &consumer};
  CHECK(leat::describe_bottleneck(stages, 10s) ==
        "No stage is the bottleneck: 'reader', the busiest, was busy 40 % of the time; larger "
        "queues let stages work at the same time.");
}

}  // namespace describe_bottleneck_test
