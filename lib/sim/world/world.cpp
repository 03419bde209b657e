#include "leat/sim/world/world.hpp"

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <string>
#include <utility>

#include "async/internal/scope_registry.hpp"
#include "base/internal/error_text.hpp"
#include "base/internal/standard_error.hpp"
#include "base/text/milliseconds_text.hpp"
#include "leat/base/internal/assert.hpp"
#include "leat/base/internal/frame_allocator.hpp"
#include "sim/world/step_engine.hpp"

namespace LEAT::sim {

using leat::detail::milliseconds_text;

namespace {

// Tasks that still run this many steps after a stop request are not going to end.
constexpr std::uint64_t max_idle_turns = 1'000'000;

// The stream of numbers of a seed that makes decisions. It is not the seed's own stream, which the
// program uses for its input and shuffles.
constexpr std::uint64_t decision_stream = 0;

std::string name_of_signal(int signal) {
  const char* const name = ::sigabbrev_np(signal);
  return name ? std::string("SIG") + name : "signal " + std::to_string(signal);
}

class installed_handler {
 public:
  using preemption_hook = leat::detail::preemption_hook;

  explicit installed_handler(preemption_hook::handler& l) noexcept
      : before_(preemption_hook::install(&l)) {}
  ~installed_handler() { preemption_hook::install(before_); }
  installed_handler(const installed_handler&) = delete;
  installed_handler& operator=(const installed_handler&) = delete;

 private:
  preemption_hook::handler* const before_;
};

}  // namespace

world::world(decision_source c, std::uint64_t seed, const world_options& options)
    : seed_(seed),
      options_(options),
      decisions_(std::move(c)),
      program_decisions_(decisions_, [this](const decision& d) { trace_decision(d); }),
      random_(seed),
      memory_(decisions_, options.memory),
      engine_(std::make_unique<step_engine>(decisions_, memory_, options)),
      network_(decisions_, options.network,
               [this](std::string sentence) { report_violation(std::move(sentence)); }) {
  add_host("local", {options.threads, options.files});
  parts_.push_back(&network_);
  engine_->add_part(network_, std::string(network_.part_name()));
}

world::world(std::uint64_t seed, const world_options& options)
    : world(decision_source(random_engine(seed).stream(decision_stream).seed()), seed, options) {}

world::world(std::vector<std::uint32_t> script, std::uint64_t seed, const world_options& options)
    : world(decision_source(std::move(script)), seed, options) {}

world::~world() = default;

host& world::add_host(std::string name, const host_options& options) {
  const allocation_faults::without_faults own;
  hosts_.push_back(std::unique_ptr<host>(new host(*this, std::move(name), options)));
  return *hosts_.back();
}

void world::add_part(world_part& part) {
  for (simulated_thread* const t : engine_->threads()) part.install(t->sched);
  parts_.push_back(&part);
  engine_->add_part(part, std::string(part.part_name()));
  set_time_of_parts();
}

time_point world::now() const noexcept { return engine_->now(); }

void world::jump_wall_clock(std::chrono::nanoseconds by) noexcept {
  local().process_.jump_wall_clock(by);
  set_time_of_parts();
  const allocation_faults::without_faults own;
  engine_->note("wall clock", "set by " + milliseconds_text(by) + " ms");
}

// The files of a host have its wall clock.
void world::set_time_of_parts() noexcept {
  const time_point now = engine_->now();
  for (const auto& h : hosts_) h->now_ = now;
  for (world_part* const part : parts_) part->set_time(now, wall_clock());
  for (const auto& h : hosts_) h->files_.set_time(now, h->process_.wall_time());
}

bool world::raise(int signal) noexcept {
  LEAT_ASSERT(signal >= 1 && signal < NSIG, "signal number is out of range");
  const bool received = local().process_.raise(signal);
  const allocation_faults::without_faults own;
  engine_->note("signal", name_of_signal(signal) + (received ? "" : ", received by no guard"));
  return received;
}

void world::note(std::string_view text) {
  const allocation_faults::without_faults own;
  engine_->note("note", std::string(text));
}

// ------------------------------------------------------------------------------------- invariants

void world::always(std::string name, std::function<bool()> holds) {
  const allocation_faults::without_faults own;
  always_.push_back({added_++, std::move(name), std::move(holds)});
}

void world::when_quiet(std::string name, std::function<bool()> holds) {
  const allocation_faults::without_faults own;
  when_quiet_.push_back({added_++, std::move(name), std::move(holds)});
}

void world::never_falls(std::string name, std::function<std::uint64_t()> value) {
  const allocation_faults::without_faults own;
  always(name + " never decreases", [f = std::move(value), last = std::uint64_t{0}]() mutable {
    const std::uint64_t before = std::exchange(last, f());
    return before <= last;
  });
}

void world::watermark(const std::string& name, std::function<std::uint64_t()> reached,
                      std::function<std::uint64_t()> acknowledged) {
  const allocation_faults::without_faults own;
  never_falls(name, reached);
  always(name + " does not exceed the acknowledged value",
         [f = std::move(reached), g = std::move(acknowledged)] { return f() <= g(); });
}

void world::clear_invariants() noexcept {
  always_.clear();
  when_quiet_.clear();
}

void world::drop(std::uint64_t first, std::uint64_t last) noexcept {
  const auto added_there = [=](const invariant& i) { return first <= i.number && i.number < last; };
  std::erase_if(always_, added_there);
  std::erase_if(when_quiet_, added_there);
}

void world::report_violation(std::string sentence) {
  if (violation_.empty()) violation_ = std::move(sentence);
}

void world::check(const std::vector<invariant>& all) {
  for (const invariant& i : all) {
    if (!i.holds()) report_violation("invariant does not hold: " + i.name);
  }
}

// ------------------------------------------------------------------------------------------ steps

std::uint64_t world::steps() const noexcept { return engine_->steps(); }

void world::trace(const trace_options& options) { engine_->log().start(options); }

const std::vector<std::string>& world::schedule() const noexcept { return engine_->log().lines(); }

void world::trace_decision(const decision& d) {
  if (!engine_->log().is_started()) return;
  engine_->note("decision", "'" + std::string(d.about) + "': " + std::to_string(d.chosen) +
                                " of 0 to " + std::to_string(d.options - 1));
}

// What a host was asked to do takes effect between two steps.
void world::settle_hosts() {
  if (!hosts_changed_) return;
  hosts_changed_ = false;
  for (std::size_t i = 0; i < hosts_.size(); ++i) {  // a destructor may add one
    if (hosts_[i]->settle()) hosts_changed_ = true;
  }
}

// Once the body has ended, the processes that still run are terminated.
void world::end_hosts() {
  if (local().live_tasks() > 0) return;
  for (const auto& h : hosts_) {
    if (h->is_running()) h->terminate();
  }
  settle_hosts();
}

bool world::step() {
  settle_hosts();
  if (!engine_->step()) return false;
  check(always_);
  return true;
}

bool world::advance() {
  if (!engine_->advance()) return false;
  set_time_of_parts();
  ++time_advances_;
  if (options_.wall_jump_plan == time_advances_ ||
      decisions_.chance(options_.wall_jump, "wall clock set?")) {
    set_wall_clock();
  }
  return true;
}

void world::set_wall_clock() {
  constexpr std::uint32_t most = 3600;
  const std::uint32_t chosen = decisions_.choose(2 * most + 1, "by how many seconds");
  const std::chrono::seconds far(chosen <= most ? chosen : chosen - most);
  const std::chrono::seconds by = chosen <= most ? far : -far;
  jump_wall_clock(by);
}

void world::run_until_quiet() {
  while (violation_.empty() && step()) {
    if (steps() > options_.max_steps) {
      throw step_limit_exceeded(
          "run did not finish after " + std::to_string(steps()) + " steps and " +
          std::to_string(std::chrono::duration<double>(now().time_since_epoch()).count()) +
          " virtual seconds: " + engine_->describe_live_tasks());
    }
  }
}

void world::drive() {
  while (engine_->live_tasks() > 0 || engine_->any_preempted()) {
    run_until_quiet();
    if (hosts_.size() > 1 && violation_.empty()) end_hosts();
    if (violation_.empty()) check(when_quiet_);
    if (violation_.empty()) network_.check_quiet();
    if (!violation_.empty()) {
      throw invariant_violation("step " + std::to_string(steps()) + ": " +
                                std::exchange(violation_, {}));
    }
    if (engine_->live_tasks() == 0) break;  // and no thread is pre-empted, or it could run
    if (!advance()) {
      throw deadlock("deadlock: nothing can run and " + engine_->describe_live_tasks() +
                     network_.table());
    }
  }
}

void world::run(const body& b) {
  // Locks that are first acquired in this world do not belong to one of its threads alone.
  leat::detail::preemption_hook::handler nobody{[](auto&) noexcept {}};
  const installed_handler installed(nobody);
  std::optional<leat::detail::frame_cache_bypass> uncached;
  if (memory_.is_enabled()) {
    memory_.require_failing_new();
    uncached.emplace();
  }
  const std::ptrdiff_t frames = leat::detail::live_frames();
  network_.renew(*local().network_);  // after a run that has failed
  leat::detail::root_scope scope("sim::run");
  scope.spawn_on(thread(0), b(*this), "body", std::source_location::current());
  try {
    drive();
    for (const auto& h : hosts_) h->throw_unseen_error();
    if (const std::ptrdiff_t left = leat::detail::live_frames() - frames;
        checks_frames_ && left != 0) {
      throw invariant_violation(std::to_string(left) +
                                " coroutine frames still exist at the end of the run");
    }
  } catch (...) {
    unwind(std::current_exception());
    throw;
  }
  scope.rethrow_error();
}

// Ends the remaining tasks, so that the process can continue.
void world::unwind(const std::exception_ptr& failure) {
  clear_invariants();
  memory_.end();
  engine_->end_preemption();
  std::uint64_t left = max_idle_turns;
  const auto stop_all = [&] {
    bool any = false;
    for (simulated_thread* const t : engine_->threads()) {
      any = leat::detail::scope_registry::stop_scopes_on(t->sched) || any;
    }
    return any;
  };
  while (engine_->live_tasks() > 0 && stop_all()) {
    while (left > 0 && engine_->live_tasks() > 0 && (step() || advance())) --left;
  }
  violation_.clear();
  engine_->allow_preemption();
  if (engine_->live_tasks() == 0) return;
  leat::detail::print_stderr(
      "leat: simulated world of seed %llu failed: %s\n"
      "leat: a stop request did not end it: %s",
      static_cast<unsigned long long>(seed_), leat::detail::error_message(failure).c_str(),
      engine_->describe_live_tasks().c_str());
  std::abort();
}

void run(std::uint64_t seed, const world::body& b, const world_options& options) {
  world(seed, options).run(b);
}

}  // namespace LEAT::sim
