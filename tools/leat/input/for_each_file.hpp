#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <exception>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <variant>
#include <vector>

#include <leat/async/task.hpp>
#include <leat/base/error.hpp>

#include "program.hpp"
#include "terminal/signals.hpp"

namespace tool {

/// Runs `work` for each file, with several threads, and calls `done` with the results in the order
/// of the files, one call at a time. An error of a file is reported in the same order, and does not
/// prevent the work on other files. See run_until_signal().
template <class Result>
class file_loop {
 public:
  using work_function = std::function<leat::task<Result>(std::string path)>;
  using done_function = std::function<void(const std::string& path, const Result& result)>;

  file_loop(program& p, std::vector<std::string> paths, work_function work, done_function done)
      : program_(p),
        paths_(std::move(paths)),
        work_(std::move(work)),
        done_(std::move(done)),
        outcomes_(paths_.size()) {}

  void run() {
    const std::size_t processors = std::max(1U, std::thread::hardware_concurrency());
    const std::size_t most = program_.jobs > 0 ? program_.jobs : processors;
    const auto threads = static_cast<unsigned>(std::clamp<std::size_t>(paths_.size(), 1, most));
    run_until_signal(threads, [this] { return process_files(); });
  }

 private:
  using outcome = std::variant<std::monostate, Result, problem>;

  leat::task<> process_files() {
    for (;;) {
      // relaxed: each number is returned once, and their order does not matter.
      const std::size_t i = next_.fetch_add(1, std::memory_order_relaxed);
      if (i >= paths_.size()) co_return;
      outcome o;
      std::exception_ptr error;
      try {
        Result result = co_await work_(paths_[i]);
        o = std::move(result);
      } catch (...) {
        error = std::current_exception();
      }
      if (error) {
        if (leat::to_error_code(error) == leat::errc::cancelled) std::rethrow_exception(error);
        o = describe(error);
      }
      report(i, std::move(o));
    }
  }

  void report(std::size_t i, outcome o) {
    const std::lock_guard lock(mutex_);
    outcomes_[i] = std::move(o);
    for (; reported_count_ < paths_.size() && outcomes_[reported_count_].index() > 0;
         ++reported_count_) {
      const outcome next = std::exchange(outcomes_[reported_count_], {});  // memory stays bounded
      if (const auto* result = std::get_if<Result>(&next)) {
        done_(paths_[reported_count_], *result);
      } else {
        program_.report(paths_[reported_count_], std::get<problem>(next));
      }
    }
  }

  program& program_;
  const std::vector<std::string> paths_;
  const work_function work_;
  const done_function done_;
  std::atomic<std::size_t> next_{0};
  std::mutex mutex_;
  std::vector<outcome> outcomes_;   // guarded by mutex_
  std::size_t reported_count_ = 0;  // guarded by mutex_
};

}  // namespace tool
