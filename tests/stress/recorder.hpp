#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <stop_token>
#include <thread>
#include <utility>
#include <vector>

#include <catch2/catch.hpp>

#include "leat/async.hpp"
#include "leat/base/internal/sanitizers.hpp"
#include "leat/base/random.hpp"
#include "support/effort.hpp"

// The parts that linearizability_test.cpp and sync_linearizability_test.cpp share.
namespace recorded {

constexpr std::size_t threads = 4;
constexpr std::size_t operations_each = 3;

/// How the operations of a history are performed: without a wait, blocking their thread, or in
/// tasks.
enum class form { at_once, blocking, in_tasks };

/// Threads that run many rounds together and record one history in each.
template <class Operation>
class recorder {
 public:
  using history = std::vector<Operation>;

  recorder(std::uint64_t seed, form f) : form_(f), helping_(seed * threads + threads) {
    for (std::size_t t = 0; t < threads; ++t) random_[t].emplace(seed * threads + t);
    if (form_ == form::in_tasks) {
      runtime_.emplace(leat::runtime_options{.threads = threads});
      return;
    }
    for (std::size_t t = 0; t < threads; ++t) {
      workers_.emplace_back([this, t](const std::stop_token& stop) { work(t, stop); });
    }
  }
  recorder(const recorder&) = delete;
  recorder& operator=(const recorder&) = delete;
  virtual ~recorder() {
    for (auto& w : workers_) w.request_stop();
  }

  history record() {
    make_tested();
    begun_ = 0;
    finished_ = 0;
    for (std::size_t t = 0; t < threads; ++t) {
      parts_[t].clear();
      has_finished_[t] = false;
      if (form_ == form::in_tasks) groups_[t].emplace();
    }
    for (std::size_t t = 0; t < threads && form_ == form::in_tasks; ++t) {
      groups_[t]->spawn_on(runtime_->get_scheduler(t), work_in_task(t));
    }
    ++round_;
    history all;
    while (finished_ != threads) {
      if (form_ != form::at_once) help(all);
      std::this_thread::yield();
    }
    for (auto& g : groups_) {
      if (g) leat::block_on(g->join());
    }
    if (!all.empty()) ++stuck_;
    for (const auto& part : parts_) all.insert(all.end(), part.begin(), part.end());
    return all;
  }

  /// The number of histories in which all threads waited.
  [[nodiscard]] int stuck() const noexcept { return stuck_; }

 protected:
  /// Makes a new object for a round.
  virtual void make_tested() = 0;
  /// Chooses the next operation of a thread. Returns false after the last one.
  virtual bool choose_next(std::size_t self, Operation& o) = 0;
  /// Performs an operation outside of a task.
  virtual void perform(Operation& o) = 0;
  /// Performs an operation other than a stop in a task.
  virtual leat::task<> perform_in_task(std::size_t self, Operation& o) = 0;
  /// Acts if no thread can proceed.
  virtual void help(history& all) = 0;

  void carry_out(Operation& o) {
    o.called = clock_++;
    perform(o);
    o.returned = clock_++;
  }

  const form form_;
  leat::random_engine helping_;
  std::array<std::optional<leat::random_engine>, threads> random_;
  std::array<history, threads> parts_{};
  std::array<std::atomic<bool>, threads> has_finished_{};
  std::atomic<std::uint64_t> clock_{0};
  std::atomic<std::size_t> finished_{0};
  std::optional<leat::runtime> runtime_;
  std::array<std::optional<leat::task_group>, threads> groups_;

 private:
  void work(std::size_t self, const std::stop_token& stop) {
    for (std::uint64_t seen = 0;;) {
      while (round_ == seen) {
        if (stop.stop_requested()) return;
        std::this_thread::yield();
      }
      ++seen;
      Operation o;
      while (choose_next(self, o)) {
        carry_out(o);
        parts_[self].push_back(o);
      }
      has_finished_[self] = true;
      ++finished_;
    }
  }

  leat::task<> work_in_task(std::size_t self) {
    ++begun_;
    while (begun_ != threads) std::this_thread::yield();
    Operation o;
    while (choose_next(self, o)) {
      o.called = clock_++;
      if (o.what == decltype(o.what)::stop) {
        groups_[o.thread]->request_stop();
      } else {
        co_await perform_in_task(self, o);
      }
      o.returned = clock_++;
      parts_[self].push_back(o);
    }
    has_finished_[self] = true;
    ++finished_;
  }

  std::atomic<std::uint64_t> round_{0};
  std::atomic<std::size_t> begun_{0};
  int stuck_ = 0;
  std::vector<std::jthread> workers_;  // last: they use the other members
};

/// Returns the number of histories of each kind.
inline int history_count() {
  return static_cast<int>(leat_test::from_environment("LEAT_HISTORIES", LEAT_ASAN ? 1'000 : 4'000));
}

/// Records histories and requires that `explains` returns true for each. Changes some of them with
/// `make_wrong`, and requires that `explains` then returns false often enough. Returns how often
/// each kind of operation ended in each way.
template <class Operation, class Explains, class MakeWrong>
auto check_histories(recorder<Operation>& r, Explains explains, MakeWrong make_wrong) {
  leat::random_engine random(2);
  std::map<std::pair<decltype(Operation::what), decltype(Operation::end)>, int> seen;
  std::map<decltype(Operation::what), int> made_wrong;
  std::map<decltype(Operation::what), int> noticed;
  for (int i = 0; i < history_count(); ++i) {
    std::vector<Operation> all = r.record();
    if (!explains(all)) FAIL("history " << i << ":\n" << text_of(all));
    for (const Operation& o : all) ++seen[{o.what, o.end}];
    Operation& victim = all[static_cast<std::size_t>(random.uniform_below(all.size()))];
    if (i >= 1000 || !make_wrong(victim)) continue;
    ++made_wrong[victim.what];
    noticed[victim.what] += explains(all) ? 0 : 1;
  }
  for (const auto& [what, count] : made_wrong) {
    INFO("kind " << static_cast<int>(what) << ": " << count << " made wrong");
    CHECK((count < 50 || noticed[what] > count / 10));
  }
  return seen;
}

}  // namespace recorded
