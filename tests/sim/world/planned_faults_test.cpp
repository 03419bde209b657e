// A fault at the n-th call, for every n, affects that call, and the schedule reports it.

#include <fcntl.h>

#include <algorithm>

#include "leat/files/file_backend.hpp"
#include "leat/sim/world/world.hpp"
#include "sim/file_system/faulty_runs.hpp"
#include "support/effort.hpp"

namespace planned_faults_test {

using leat::file_request;
using leat::sim::fault;
using leat::sim::planned_fault;
using leat::sim::world;
using leat_test::joined;
using leat_test::read_lines_into;
using leat_test::read_records;
using leat_test::read_records_into;
using leat_test::texts;
using leat_test::write_records;
using op = file_request::operation;

// The properties of a call as the test sees them, independent of the decisions of the file system.
struct call {
  op what = op::close;
  bool is_stream = false;
  bool creates = false;
  std::size_t size = 0;

  [[nodiscard]] bool can_meet(fault f) const {
    const bool moves = what == op::read || what == op::write;
    const bool reads_at = what == op::read && !is_stream;
    switch (f) {
      case fault::interrupted:
      case fault::again:
      case fault::io_error:
      case fault::slow: return what != op::close;
      case fault::cancelled_late: return (moves && !is_stream) || what == op::sync;
      case fault::no_space:
        return what == op::write || what == op::make_directory || (what == op::open && creates);
      case fault::short_transfer: return moves && size > 1;
      case fault::bit_flip: return what == op::read && size > 0;
      case fault::truncated: return reads_at;
      case fault::replaced: return reads_at || what == op::open;
      default: return false;
    }
  }
};

// Records every call in front of a world's file system.
class recorder final : public leat::file_backend {
 public:
  explicit recorder(leat::sim::file_system& files) : files_(files) {}

  [[nodiscard]] const call* number(std::uint64_t n) const {
    return n >= 1 && n <= calls_.size() ? &calls_[n - 1] : nullptr;
  }

  [[nodiscard]] bool each_counts_once() const { return each_counts_once_; }

  [[nodiscard]] std::string_view name() const noexcept override { return files_.name(); }
  void submit(file_request& r) noexcept override {
    const call c = call_of(r);
    files_.submit(r);
    note(c);
  }
  bool try_complete(file_request& r) noexcept override {
    const call c = call_of(r);
    const bool done = files_.try_complete(r);
    note(c);
    return done;
  }
  void cancel(file_request& r) noexcept override { files_.cancel(r); }
  void execute_blocking(file_request& r) noexcept override { files_.execute_blocking(r); }
  int set_direct(int handle, bool direct) noexcept override {
    return files_.set_direct(handle, direct);
  }
  [[nodiscard]] bool uses_descriptors() const noexcept override { return false; }

 private:
  static call call_of(const file_request& r) {
    return {r.what, r.offset == leat::at_stream_position, (r.flags & O_CREAT) != 0, r.size};
  }
  void note(const call& c) {
    if (files_.calls() > calls_.size()) calls_.push_back(c);
    each_counts_once_ = each_counts_once_ && files_.calls() == calls_.size();
  }

  leat::sim::file_system& files_;
  std::vector<call> calls_;
  bool each_counts_once_ = true;
};

struct planned {
  fault what;
  const char* words;  // its text in a schedule
};

constexpr planned all_faults[] = {
    {fault::short_transfer, ", cut short"},
    {fault::interrupted, ", EINTR"},
    {fault::again, ", EAGAIN"},
    {fault::cancelled_late, ", ECANCELED after it was done"},
    {fault::io_error, ", EIO"},
    {fault::no_space, ", ENOSPC"},
    {fault::bit_flip, ", one bit wrong"},
    {fault::truncated, ", after the file was cut"},
    {fault::replaced, ", after another file took the name"},
    {fault::slow, ", slow"},
};

texts numbered(int count) { return leat_test::numbered("record ", count); }

// Writes, reads and queries a file, and reads lines concurrently.
task<> some_of_everything() {
  co_await write_records("/data", numbered(20), 100);
  const texts records = co_await read_records("/data", {.read = {.chunk_size = 100, .depth = 2}});
  texts lines;
  co_await read_lines_into(lines, "/lines", {.read = {.chunk_size = 50, .depth = 2}});
}

std::size_t lines_with(const std::vector<std::string>& schedule, const std::string& words) {
  return static_cast<std::size_t>(std::ranges::count_if(
      schedule, [&](const std::string& line) { return contains(line, words); }));
}

TEST_CASE(
    "planned_fault: affects the n-th call if possible, for every n, and appears in the schedule") {
  for (const auto& [f, words] : all_faults) {
    std::size_t befallen = 0;
    for (std::uint64_t seed = 1; seed <= leat_test::scaled_count(20); ++seed) {
      bool reached = true;
      for (std::uint64_t n = 1; reached; ++n) {
        world w(seed, {.files = {.plan = planned_fault{n, f}}});
        w.files().write_file("/lines", joined(numbered(30)));
        recorder asked(w.files());
        w.thread(0).set_service<leat::file_backend>(&asked);
        w.trace();
        try {
          w.run([](world&) { return some_of_everything(); });
        } catch (const leat::failure&) {
        }
        const call* const nth = asked.number(n);
        reached = nth != nullptr;
        REQUIRE(asked.each_counts_once());
        const std::size_t expected = nth && nth->can_meet(f) ? 1 : 0;
        INFO(words << ", seed " << seed << ", call " << n);
        REQUIRE(lines_with(w.schedule(), words) == expected);
        befallen += expected;
      }
    }
    INFO(words);
    CHECK(befallen > 5);
  }
}

// The result of a reader whose file had a fault at one call.
struct reading {
  texts seen;
  bool failed = false;
};

using read_into = task<> (*)(texts&, std::string);

task<> read_some_lines(texts& to, std::string path) {
  co_await read_lines_into(to, std::move(path), {.read = {.chunk_size = 100, .depth = 2}});
}

task<> read_some_records(texts& to, std::string path) {
  co_await read_records_into(to, std::move(path), {.read = {.chunk_size = 100, .depth = 2}});
}

reading read_in(world& w, read_into read) {
  reading r;
  try {
    w.run([&](world&) { return read(r.seen, "/a"); });
  } catch (const leat::failure& e) {
    REQUIRE(e.code() == errc::data_loss);
    REQUIRE(contains(e.what(), "/a"));
    r.failed = true;
  }
  return r;
}

// Returns the content of a file with these texts in the format of `read`.
std::string content_for(read_into read, const texts& all) {
  if (read == &read_some_lines) return joined(all);
  world w(1);
  w.run([&](world&) { return write_records("/a", all, 600); });
  return w.files().read_file("/a").value();
}

// Calls `check` with the reading and its world, for every n at which `f` occurs.
template <class Check>
std::size_t for_every_n(fault f, const char* words, read_into read, const std::string& content,
                        Check check) {
  std::size_t befallen = 0;
  for (std::uint64_t seed = 1; seed <= leat_test::scaled_count(20); ++seed) {
    bool reached = true;
    for (std::uint64_t n = 1; reached; ++n) {
      world w(seed, {.files = {.plan = planned_fault{n, f}}});
      w.files().write_file("/a", content);
      w.trace();
      const reading r = read_in(w, read);
      reached = w.files().calls() >= n;
      if (lines_with(w.schedule(), words) == 0) continue;
      ++befallen;
      INFO(words << ", seed " << seed << ", call " << n);
      check(r, w);
    }
  }
  return befallen;
}

TEST_CASE("planned_fault: a wrong bit in any read of records causes a second read") {
  const texts all = numbered(100);
  const std::size_t befallen =
      for_every_n(fault::bit_flip, ", one bit wrong", &read_some_records,
                  content_for(&read_some_records, all), [&](const reading& r, world&) {
                    REQUIRE_FALSE(r.failed);
                    REQUIRE(r.seen == all);
                  });
  CHECK(befallen > leat_test::scaled_count(100));
}

TEST_CASE("planned_fault: a file truncated before any read returns complete records or an error") {
  const texts all = numbered(100);
  for (const read_into read : {&read_some_lines, &read_some_records}) {
    std::size_t errors = 0;
    const std::string content = content_for(read, all);
    const std::size_t befallen =
        for_every_n(fault::truncated, ", after the file was cut", read, content,
                    [&](const reading& r, world& w) {
                      REQUIRE(r.seen.size() <= all.size());
                      REQUIRE(std::equal(r.seen.begin(), r.seen.end(), all.begin()));
                      REQUIRE((r.failed || r.seen == all));
                      REQUIRE(w.files().read_file("/a").value().size() <= content.size());
                      if (r.failed) ++errors;
                    });
    CHECK(befallen > leat_test::scaled_count(100));
    CHECK(errors > leat_test::scaled_count(50));
  }
}

TEST_CASE("planned_fault: a file replaced before any call is read as the old or the new file") {
  const texts all = numbered(100);
  for (const read_into read : {&read_some_lines, &read_some_records}) {
    std::size_t old_ones = 0;
    std::size_t new_ones = 0;
    const std::string content = content_for(read, all);
    const std::size_t befallen =
        for_every_n(fault::replaced, ", after another file took the name", read, content,
                    [&](const reading& r, world& w) {
                      if (!r.failed && r.seen == all) {
                        ++old_ones;
                        return;
                      }
                      world later(1);
                      later.files().write_file("/a", w.files().read_file("/a").value());
                      const reading fresh = read_in(later, read);
                      REQUIRE(r.seen == fresh.seen);
                      REQUIRE(r.failed == fresh.failed);
                      ++new_ones;
                    });
    CHECK(old_ones + new_ones == befallen);
    CHECK(old_ones > leat_test::scaled_count(100));
    CHECK(new_ones > leat_test::scaled_count(10));
  }
}

TEST_CASE("planned_fault: a call that takes minutes changes no result") {
  const texts all = numbered(100);
  const std::size_t befallen = for_every_n(
      fault::slow, ", slow", &read_some_lines, joined(all), [&](const reading& r, world& w) {
        REQUIRE_FALSE(r.failed);
        REQUIRE(r.seen == all);
        REQUIRE(w.now() - leat::time_point{} >= std::chrono::minutes(1));
        REQUIRE(w.now() - leat::time_point{} < std::chrono::minutes(11));
      });
  CHECK(befallen > leat_test::scaled_count(100));
}

}  // namespace planned_faults_test
