#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <vector>

#include "leat/async.hpp"
#include "leat/io/backend/get_file_backend.hpp"
#include "soak/data_set.hpp"
#include "soak/rough_backend.hpp"
#include "soak/round.hpp"

namespace soak {

/// A round and the state that its tasks share.
class world {
 public:
  explicit world(const round_options& o)
      : random(o.seed),
        directory(o.directory),
        backend(o.backend),
        files(make_files(o.directory, random)),
        records(files.back().first + files.back().count),
        rates{.io_error = random.uniform_below(3) == 0 ? 0.01 : 0.0},
        skips_errors(random.uniform_below(2) == 0),
        rt({.threads = static_cast<std::size_t>(1 + random.uniform_below(3)),
            .spins_before_sleep = random.uniform_below(2) == 0 ? 0 : 100}) {}

  leat::scheduler& any_scheduler() {
    return rt.get_scheduler(static_cast<std::size_t>(random.uniform_below(rt.size())));
  }

  /// Reports a failed check, from any thread. Only the first sentence is kept.
  void violated(const std::string& sentence) {
    const std::lock_guard lock(mutex_);
    if (violation_.empty()) violation_ = sentence;
  }
  void require(bool holds, const std::string& sentence) {
    if (!holds) violated(sentence);
  }
  void check() const {
    const std::lock_guard lock(mutex_);
    if (!violation_.empty()) throw std::logic_error(violation_);
  }

  leat::random_engine random;
  const std::string directory;
  const leat::file_backend_choice backend;
  std::vector<input_file> files;
  ledger records;
  injuries broken;
  const rough_rates rates;
  const bool skips_errors;              // unreadable files are skipped
  std::atomic<bool> incomplete{false};  // a file was skipped, or the round stopped
  std::atomic<std::uint64_t> damaged{0};
  std::vector<std::unique_ptr<rough_backend>> backends;
  leat::runtime rt;  // last, because its end uses the backends

 private:
  mutable std::mutex mutex_;
  std::string violation_;
};

/// Runs a pipeline over the files of a world: created separately or declared.
leat::task<> run_batchers(world& w, std::uint64_t epochs);
leat::task<> run_declared(world& w, std::uint64_t epochs);

}  // namespace soak
