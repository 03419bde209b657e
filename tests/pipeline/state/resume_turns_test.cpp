// A restore lets other tasks run meanwhile, and a stop ends it.

#include <algorithm>
#include <functional>

#include "leat/io/reader/tfrecord_reader.hpp"
#include "leat/pipeline/read_indexed.hpp"
#include "pipeline/resuming.hpp"

namespace resume_turns_test {

using namespace leat_test;

constexpr std::size_t capacity = 3000;
constexpr std::size_t share = 16;  // records of a turn

// Calls of a function while a pipeline is restored.
struct calls {
  std::size_t all = 0;
  std::size_t since_a_turn = 0;
  std::size_t most = 0;
  std::function<void()> on_call = [] {};

  void add() {
    ++all;
    most = std::max(most, ++since_a_turn);
    on_call();
  }
};

template <class Pipeline>
auto buffered(Pipeline p, calls& c) {
  return std::move(p)
      .map("text",
           [&c](leat::byte_view record) {
             c.add();
             return text_of_record(record);
           })
      .shuffle({.capacity = capacity, .seed = 1});
}

task<> tick(calls& c, const bool& done) {
  while (!done) {
    c.since_a_turn = 0;
    co_await leat::this_task::yield();
  }
}

template <class Make>
void check_turns(Make make) {
  calls c;
  const auto [all, states] = run_and_save(make(c), 200);
  const std::string state = states[100];
  const texts expected(all.begin() + 100, all.end());

  // Other tasks run.
  const auto restored = [&](auto& p) -> task<> {
    bool done = false;
    leat::task_group others("others");
    others.spawn(tick(c, done));
    c = {};
    co_await p.restore(state);
    done = true;
    co_await others.join();
  };
  auto second = make(c);
  leat::block_on(restored(second));
  CHECK(c.all >= capacity);
  CHECK(c.most <= share);
  leat::block_on(second.stop());

  // A stop ends the restore.
  auto third = make(c);
  const auto stopped = [&]() -> task<> {
    leat::task_group group("restoring");
    c = {};
    c.on_call = [&] {
      if (c.all == 500) group.request_stop();
    };
    group.spawn(third.restore(state));
    co_await group.join();
  };
  const std::string why = error_of(stopped(), errc::cancelled);
  CHECK(c.all >= 500);
  CHECK(c.all <= 500 + share);
  c.on_call = [] {};
  const texts rest = leat::block_on(go_on(third, state, 100));
  CHECK((rest == expected));
}

TEST_CASE("resume: other tasks run while a restore reads files again", "[pipeline]") {
  const temp_dir dir;
  leat::block_on(write_record_files(dir, 5000));
  check_turns([&](calls& c) {
    return buffered(leat::read_files<leat::tfrecord_reader>({.files = {dir / "records???"}}), c);
  });
}

TEST_CASE("resume: other tasks run while a restore reads by index", "[pipeline]") {
  const temp_dir dir;
  leat::block_on(write_record_files(dir, 5000));
  check_turns([&](calls& c) {
    return buffered(leat::read_indexed({dir / "records???"}, {.num_epochs = 1, .seed = 5}), c);
  });
}

}  // namespace resume_turns_test
