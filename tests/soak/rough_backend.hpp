#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "leat/base/random.hpp"
#include "leat/files/file_backend.hpp"

namespace soak {

/// The probability of each fault of a request.
struct rough_rates {
  double short_transfer = 0.1;
  double interrupted = 0.03;
  double again = 0.03;
  double cancelled_late = 0.02;
  double not_cached = 0.3;  ///< a read that has to wait although the page cache has it
  double io_error = 0;
};

/// The permanent failures that the backends of a round have caused, as the start of the expected
/// message of each.
/// Thread safety: thread-safe.
class injuries {
 public:
  void add(std::string message);
  /// Returns true if `message` reports one of them.
  [[nodiscard]] bool explain(const std::string& message) const;
  [[nodiscard]] std::size_t count() const;

 private:
  mutable std::mutex mutex_;
  std::set<std::string> messages_;
};

/// A real file backend with additional faults: short transfers, EINTR, EAGAIN, ECANCELED and EIO.
///
/// It outlives its scheduler. Thread safety: thread-bound, like the real backend.
class rough_backend final : public leat::file_backend {
 public:
  rough_backend(leat::file_backend& real, const rough_rates& rates, std::uint64_t seed,
                injuries& broken)
      : real_(real), rates_(rates), random_(seed), broken_(broken) {}
  ~rough_backend() override;

  [[nodiscard]] std::string_view name() const noexcept override { return real_.name(); }
  void submit(leat::file_request& request) noexcept override;
  bool try_complete(leat::file_request& request) noexcept override;
  void cancel(leat::file_request& request) noexcept override;
  void execute_blocking(leat::file_request& request) noexcept override {
    real_.execute_blocking(request);
  }
  int set_direct(int handle, bool direct) noexcept override {
    return real_.set_direct(handle, direct);
  }

  [[nodiscard]] std::uint64_t faults() const noexcept { return faults_; }

 private:
  struct stand_in;  // replaces a request in the real backend

  [[nodiscard]] bool happens(double share) noexcept;
  [[nodiscard]] std::int64_t fault_for(const leat::file_request& r);
  [[nodiscard]] std::size_t scaled_count(std::size_t size) noexcept;
  [[nodiscard]] stand_in& take_stand_in();

  leat::file_backend& real_;
  const rough_rates rates_;
  leat::random_engine random_;
  injuries& broken_;
  std::map<int, std::string> paths_;  // of open handles
  std::vector<stand_in*> idle_;
  std::size_t under_way_ = 0;
  std::uint64_t faults_ = 0;
};

}  // namespace soak
