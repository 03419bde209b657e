#pragma once

#include <exception>
#include <optional>
#include <span>

#include <asio/io_context.hpp>
#include <catch2/catch.hpp>

#include "leat/async/loop/asio_scheduler.hpp"
#include "leat/async/loop/embedded_scheduler.hpp"
#include "leat/async/task_group.hpp"
#include "leat/base/error.hpp"

// A test case for each kind of loop. The body uses `TestType`.
#define LEAT_LOOP_TEST(name) \
  TEMPLATE_TEST_CASE(name, "", leat_test::asio_loop, leat_test::embedded_loop)

namespace leat_test {

/// An io_context with a scheduler. Tests run it in steps and can destroy it before its tasks end.
class asio_loop {
 public:
  static constexpr const char* name = "io_context";

  [[nodiscard]] leat::scheduler& get_scheduler() { return leat::get_scheduler(*io_); }
  [[nodiscard]] asio::io_context& context() { return *io_; }

  /// Runs everything that can run without waiting.
  void run_ready() {
    io_->restart();
    io_->poll();
  }
  /// Runs one turn of the scheduler or one other handler.
  void run_one_turn() {
    io_->restart();
    io_->poll_one();
  }
  void end() { io_.reset(); }

 private:
  std::optional<asio::io_context> io_{std::in_place};
};

/// The same interface for an embedded_scheduler.
class embedded_loop {
 public:
  static constexpr const char* name = "embedded_scheduler";

  [[nodiscard]] leat::scheduler& get_scheduler() { return *scheduler_; }

  void run_ready() {
    while (scheduler_->run_ready().more) {
    }
  }
  void run_one_turn() { scheduler_->run_ready(); }
  void end() { scheduler_.reset(); }

 private:
  std::optional<leat::embedded_scheduler> scheduler_{std::in_place};
};

/// Joins a group. Returns true if one of its tasks was cancelled, as a destroyed loop cancels its
/// tasks.
inline bool is_cancelled(leat::task_group& group) {
  try {
    leat::block_on(group.join());
  } catch (...) {
    return leat::to_error_code(std::current_exception()) == leat::errc::cancelled;
  }
  return false;
}

/// An object of a frame, which counts the objects of its kind that are alive.
struct counted {
  explicit counted(int& n) noexcept : count(n) { ++count; }
  counted(const counted&) = delete;
  counted& operator=(const counted&) = delete;
  ~counted() { --count; }
  int& count;
};

/// A task that owns some objects, which it counts.
struct scenario {
  const char* name;
  leat::task<> (*run)(int& objects);
};

/// Checks that all objects of each scenario end with a loop that is destroyed after 0, 1, … turns,
/// with and without a stop.
template <class Loop>
void check_ends(std::span<const scenario> scenarios, int most_turns) {
  for (const scenario& s : scenarios) {
    for (int i = 0; i < 2 * most_turns; ++i) {
      const int turns = i / 2;
      const bool stop = i % 2 == 1;
      INFO(s.name << ", " << turns << " turns, stop " << stop);
      int objects = 0;
      leat::task_group group;
      {
        Loop loop;
        group.spawn_on(loop.get_scheduler(), s.run(objects), "caller");
        for (int turn = 0; turn < turns; ++turn) loop.run_one_turn();
        if (stop) group.request_stop();
        loop.end();
      }
      CHECK(objects == 0);
      CHECK(group.live_tasks() == 0);
      try {
        leat::block_on(group.join());
      } catch (const leat::failure& e) {
        CHECK(e.code() == leat::errc::cancelled);
      }
    }
  }
}

}  // namespace leat_test
