// Explores the model tests with Relacy: model [--schedules N] [--first N] [--list] [NAME...]
//
// Random schedules are numbered, and a number is the seed of its schedule. --first N --schedules N
// runs schedules again. A NAME is the beginning of a test's name. The default of --schedules is the
// environment variable LEAT_MODEL_SCHEDULES, or 100,000 if it is not set.

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <ostream>
#include <span>
#include <streambuf>
#include <string>
#include <utility>
#include <vector>

#include "async/dump/internal/dump_printers.hpp"
#include "async/dump/internal/process_snapshot.hpp"
#include "async/dump_query.hpp"
#include "async/internal/live_tasks_text.hpp"
#include "base/internal/exception_in_flight.hpp"
#include "leat/async/detail/select_state.hpp"
#include "leat/async/detail/wait_on_foreign_awaitable.hpp"
#include "leat/async/dump/internal/live_object.hpp"
#include "leat/async/scheduler/scheduler.hpp"
#include "leat/base/internal/assert.hpp"
#include "leat/queue/queue_base.hpp"
#include "model/model.hpp"
#include "model/system.hpp"
#include "queue/internal/queue_metrics.hpp"

namespace model {
namespace {

std::vector<const test*>& tests() {
  static std::vector<const test*> all;
  return all;
}

const test* running = nullptr;

// The test suite of Relacy: one type for each number of threads, which is a template argument.
template <int threads>
struct suite : rl::test_suite<suite<threads>, threads> {
  void before() {
    fences = fence_model::two_fences;
    checks_destruction = false;
    program_ = running->make();
  }
  void thread(unsigned index) {
    leat::scheduler::current_ = nullptr;
    program_->thread(index);
  }
  void after() {
    leat::scheduler::current_ = nullptr;
    program_->finish();
    program_.reset();
  }
  std::unique_ptr<program> program_;
};

bool simulate(rl::test_params& params) {
  switch (running->threads) {
    case 2: return rl::simulate<suite<2>>(params);
    case 3: return rl::simulate<suite<3>>(params);
    case 4: return rl::simulate<suite<4>>(params);
    default: std::abort();
  }
}

// Prints the history of a failing run and drops all other output of Relacy. It allocates nothing,
// since memory belongs to Relacy during a run.
class history_output final : public std::streambuf {
 public:
  explicit history_output(const rl::test_params& p) : params_(p) {}

 private:
  int_type overflow(int_type c) override {
    if (params_.collect_history) std::putchar(c);
    return 0;
  }
  std::streamsize xsputn(const char* text, std::streamsize size) override {
    if (params_.collect_history) std::fwrite(text, 1, static_cast<std::size_t>(size), stdout);
    return size;
  }
  const rl::test_params& params_;
};

struct request {
  unsigned long long first = 1;
  unsigned long long count = 100'000;
};

bool explore(const test& t, rl::scheduler_type_e kind, const request& r) {
  running = &t;
  rl::test_params params;
  history_output buffer(params);
  std::ostream output(&buffer);
  params.search_type = kind;
  params.context_bound = 2;
  params.execution_depth_limit = 20'000;
  params.iteration_count = r.first + r.count - 1;
  params.progress_stream = &output;
  params.output_stream = &output;
  if (kind == rl::sched_random) params.initial_state = std::to_string(r.first) + " ";
  const auto begin = std::chrono::steady_clock::now();
  const bool passed = simulate(params);
  const std::chrono::duration<double> time = std::chrono::steady_clock::now() - begin;
  const char* const how = kind == rl::sched_random ? "random" : "2 pre-emptions";
  if (!passed) {
    std::printf("FAILED  %s: schedule %llu (%s), history above\n", t.name.c_str(),
                static_cast<unsigned long long>(params.stop_iteration), how);
    return false;
  }
  const auto done = params.stop_iteration + 1 - (kind == rl::sched_random ? r.first : 1);
  std::printf("%-64s %10llu %-14s %8.0f/s\n", t.name.c_str(), static_cast<unsigned long long>(done),
              how, static_cast<double>(done) / time.count());
  std::fflush(stdout);
  return true;
}

bool explore(const test& t, const request& r) {
  if (t.how == test::search::bounded && r.first == 1 && !explore(t, rl::sched_bound, r)) {
    return false;
  }
  return explore(t, rl::sched_random, r);
}

bool wanted(const test& t, const std::vector<std::string>& names) {
  const auto begins = [&](const std::string& n) { return t.name.starts_with(n); };
  return names.empty() || std::ranges::any_of(names, begins);
}

}  // namespace

test::test(std::string n, unsigned count, maker m, search s)
    : name(std::move(n)), threads(count), make(m), how(s) {
  tests().push_back(this);
}

point::point() noexcept : kept_(leat::scheduler::current_) {}
point::~point() { leat::scheduler::current_ = static_cast<leat::scheduler*>(kept_); }

}  // namespace model

namespace leat {

// A failed assertion of the library ends the schedule, not the process.
void detail::assertion_failed(const char*, const char* sentence, const char* file,
                              int line) noexcept {
  rl::ctx().fail_test(sentence, rl::test_result_user_assert_failed,
                      rl::debug_info("assertion", file, static_cast<unsigned>(line)));
  std::abort();
}

// No dump queries the schedulers of the model.
bool detail::is_dump_query(const work_item&) noexcept { return false; }

void detail::live_object::add() noexcept {}
void detail::live_object::remove() noexcept {}
bool detail::live_object::is_alive(const void*, std::uint32_t) noexcept { return true; }

// No metrics of the model are read.
detail::scheduler_record::scheduler_record() = default;
detail::scheduler_record::~scheduler_record() = default;
std::span<const detail::queue_metric> detail::queue_metrics() noexcept { return {}; }

std::string detail::name_of(const task_context&) { return "task"; }

void queue_base::abort_destroyed_in_use() const noexcept {
  detail::assertion_failed("", "queue destroyed while operations wait on it", __FILE__, __LINE__);
  std::abort();
}

// The library calls it when a primitive is misused, before it ends the process.
void detail::print_exception_in_flight() noexcept {
  assertion_failed("", "a primitive was misused: the message above", __FILE__, __LINE__);
}
thread_local const char* detail::assertion_note = nullptr;
std::string detail::to_text(const waiting_operation&) { return "operation"; }
std::string detail::to_text(const wait_target::hold&, std::string_view) { return ", held"; }
std::string detail::limit_text(const limit_end&) { return ""; }

void detail::foreign_awaitable_destroyed(const wait_operation&, const task_context&) noexcept {
  assertion_failed("", "task destroyed while it awaits another library", __FILE__, __LINE__);
  std::abort();
}

void detail::scope_destroyed(const task_scope&) noexcept {
  assertion_failed("", "task scope destroyed while its tasks are running", __FILE__, __LINE__);
  std::abort();
}

}  // namespace leat

int main(int argc, char** argv) {
  model::request request;
  if (const char* count = std::getenv("LEAT_MODEL_SCHEDULES")) {
    request.count = std::strtoull(count, nullptr, 10);
  }
  std::vector<std::string> names;
  bool list = false;
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    if ((argument == "--first" || argument == "--schedules") && i + 1 < argc) {
      (argument == "--first" ? request.first : request.count) =
          std::strtoull(argv[++i], nullptr, 10);
    } else if (argument == "--list") {
      list = true;
    } else {
      names.push_back(argument);
    }
  }
  if (request.first == 0 || request.count == 0) {
    std::fputs("model: schedules are counted from 1 on\n", stderr);
    return 2;
  }
  std::size_t ran = 0;
  std::size_t failed = 0;
  for (const model::test* t : model::tests()) {
    if (!model::wanted(*t, names)) continue;
    ++ran;
    if (list) {
      std::printf("%s\n", t->name.c_str());
    } else if (!model::explore(*t, request)) {
      ++failed;
    }
  }
  if (ran == 0) {
    std::fputs("model: no such test\n", stderr);
    return 2;
  }
  return failed == 0 ? 0 : 1;
}
