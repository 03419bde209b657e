#pragma once

// EIO at every single file operation in turn, in a simulated world and with both real backends.

#include <functional>
#include <map>

#include "leat/io/backend/get_file_backend.hpp"
#include "leat/sim/world/world.hpp"
#include "support/leat_test.hpp"
#include "support/records/record_files.hpp"
#include "support/temp_dir.hpp"

namespace leat_test {

constexpr std::size_t most_errors = 20;  // one is planned; many mean a repeated fault

/// Repeats a step until it returns false, also after an EIO. Returns the number of these errors.
template <class Step>
task<std::size_t> repeat_after_errors(Step step) {
  std::size_t errors = 0;
  for (bool more = true; more && errors < most_errors;) {
    try {
      more = co_await step();
    } catch (const std::system_error& e) {
      if (e.code() != std::errc::io_error) throw;
      ++errors;
    }
  }
  co_return errors;
}

/// Contents by file name.
using file_contents = std::map<std::string, std::string>;

/// Reads the files of a directory into `out`, and repeats the call after each EIO. Returns the
/// number of these errors.
using faulty_reading = std::function<task<std::size_t>(std::string directory, texts& out)>;

/// The result of a reading with one EIO.
struct faulty_outcome {
  texts got = {};
  std::size_t errors = 0;
  std::uint64_t operations = 0;
};

/// A real backend whose n-th read operation fails with EIO. It completes no read operation
/// immediately.
class failing_backend final : public leat::file_backend {
 public:
  failing_backend(leat::file_backend& real, std::uint64_t n) : real_(real), fails_(n) {}

  [[nodiscard]] std::uint64_t operations() const noexcept { return operations_; }

  [[nodiscard]] std::string_view name() const noexcept override { return real_.name(); }
  void submit(leat::file_request& r) noexcept override {
    if (reads(r) && ++operations_ == fails_) {
      r.result = -EIO;
      r.completion_scheduler->post(r);
    } else {
      real_.submit(r);
    }
  }
  bool try_complete(leat::file_request& r) noexcept override {
    return !reads(r) && real_.try_complete(r);
  }
  void cancel(leat::file_request& r) noexcept override { real_.cancel(r); }
  void execute_blocking(leat::file_request& r) noexcept override { real_.execute_blocking(r); }
  int set_direct(int handle, bool direct) noexcept override {
    return real_.set_direct(handle, direct);
  }

 private:
  static bool reads(const leat::file_request& r) noexcept {
    using op = leat::file_request::operation;
    return r.what == op::open || r.what == op::status || r.what == op::list || r.what == op::read;
  }

  leat::file_backend& real_;
  const std::uint64_t fails_;
  std::uint64_t operations_ = 0;
};

/// Checks `reading` with EIO at the n-th operation, for every n.
inline void check_every_fault(const texts& expected,
                              const std::function<faulty_outcome(std::uint64_t n)>& reading) {
  std::size_t befallen = 0;
  for (std::uint64_t n = 1;; ++n) {
    CAPTURE(n);
    const faulty_outcome o = reading(n);
    REQUIRE((o.got == expected));
    REQUIRE(o.errors <= 1);
    befallen += o.errors;
    if (o.operations < n) break;
  }
  CHECK(befallen >= 2);
}

inline void check_simulated(const file_contents& files, const texts& expected,
                            const faulty_reading& read) {
  check_every_fault(expected, [&](std::uint64_t n) {
    leat::sim::world w(
        7, {.files = {.plan = leat::sim::planned_fault{n, leat::sim::fault::io_error}}});
    for (const auto& [name, content] : files) w.files().write_file("/in/" + name, content);
    faulty_outcome o;
    w.run([&](leat::sim::world&) -> task<> { o.errors = co_await read("/in", o.got); });
    o.operations = w.files().calls();
    return o;
  });
}

/// `failing` outlives the scheduler, because a file may be closed after the reading.
inline task<> read_with_fault(const faulty_reading& read, std::string directory,
                              leat::file_backend_choice choice, std::uint64_t n,
                              std::optional<failing_backend>& failing, faulty_outcome& o) {
  leat::scheduler& sched = leat::this_task::get_scheduler();
  leat::file_backend& real = leat::get_file_backend(sched, choice);
  failing.emplace(real, n);
  sched.set_service<leat::file_backend>(&*failing);
  o.errors = co_await read(std::move(directory), o.got);
  o.operations = failing->operations();
  sched.set_service<leat::file_backend>(&real);
}

inline void check_real(const file_contents& files, const texts& expected,
                       const faulty_reading& read, leat::file_backend_choice choice) {
  const temp_dir dir;
  for (const auto& [name, content] : files) dir.write(name, content);
  check_every_fault(expected, [&](std::uint64_t n) {
    std::optional<failing_backend> failing;
    faulty_outcome o;
    leat::block_on(read_with_fault(read, dir.path(), choice, n, failing, o));
    return o;
  });
}

inline bool has_io_uring() {
  static const bool has = [] {
    try {
      leat::block_on([]() -> task<> {
        leat::scheduler& sched = leat::this_task::get_scheduler();
        static_cast<void>(leat::get_file_backend(sched, leat::file_backend_choice::io_uring));
        co_return;
      }());
      return true;
    } catch (const leat::failure& e) {
      if (e.code() != errc::unavailable) throw;
      WARN("io_uring is unavailable here");
      return false;
    }
  }();
  return has;
}

/// Checks `read` in a simulated world and with both real backends.
inline void check_everywhere(const file_contents& files, const texts& expected,
                             const faulty_reading& read) {
  {
    INFO("simulated");
    check_simulated(files, expected, read);
  }
  {
    INFO("worker threads");
    check_real(files, expected, read, leat::file_backend_choice::threads);
  }
  if (has_io_uring()) {
    INFO("io_uring");
    check_real(files, expected, read, leat::file_backend_choice::io_uring);
  }
}

}  // namespace leat_test
