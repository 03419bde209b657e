#include "leat/sim/world/sweep.hpp"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <memory>
#include <optional>
#include <sstream>
#include <utility>

#include "sim/world/replay.hpp"
#include "sim/world/run_failure.hpp"

namespace LEAT::sim {
namespace {

using script = std::vector<std::uint32_t>;

// A failing run may have millions of steps: the report has this many lines of each end.
constexpr std::size_t traced_lines_per_end = 1000;

// Linux accepts no longer variable: MAX_ARG_STRLEN.
constexpr std::size_t max_variables = 131'072;

// Enough for all runs of most programs, and for a few that do not end.
constexpr std::uint64_t max_shrink_steps = 20'000'000;

script get_script(world& w) {
  script all;
  for (const decision& c : w.decisions().made()) all.push_back(c.chosen);
  return all;
}

// Removes the default decisions at the end of a script, which are implied.
void trim(script& s) {
  while (!s.empty() && s.back() == 0) s.pop_back();
}

std::size_t count_non_default(const script& s) {
  return static_cast<std::size_t>(
      std::count_if(s.begin(), s.end(), [](std::uint32_t c) { return c != 0; }));
}

// Describes where two runs of a seed diverge: the first decision with a different result or
// different options.
std::string find_divergence(world& one, world& other) {
  const std::vector<decision>& a = one.decisions().made();
  const std::vector<decision>& b = other.decisions().made();
  const auto alike = [](const decision& x, const decision& y) {
    return x.options == y.options && x.chosen == y.chosen && x.step == y.step &&
           std::strcmp(x.about, y.about) == 0;
  };
  const auto [at, there] = std::mismatch(a.begin(), a.end(), b.begin(), b.end(), alike);
  const bool differs = at != a.end() || there != b.end();
  if (!differs && one.steps() == other.steps() && one.now() == other.now()) return {};
  const std::uint64_t step = at != a.end()      ? at->step
                             : there != b.end() ? there->step
                                                : std::min(one.steps(), other.steps());
  return "a second run diverged at step " + std::to_string(step) +
         ": the run depends on something outside the world, such as an earlier run, real time, "
         "addresses or other threads";
}

// One run of a sweep.
struct sweep_run {
  std::uint64_t seed;
  std::optional<script> decisions;  // empty: made from the seed

  [[nodiscard]] std::unique_ptr<world> create_world(const world_options& options) const {
    return decisions ? std::make_unique<world>(*decisions, seed, options)
                     : std::make_unique<world>(seed, options);
  }
  [[nodiscard]] std::string variables() const { return replay_variables(seed, decisions); }
  [[nodiscard]] std::string name() const {
    const bool is_default = decisions && count_non_default(*decisions) == 0;
    return "seed " + std::to_string(seed) + (is_default ? ", default schedule" : "");
  }
};

class sweeper {
 public:
  sweeper(const world::body& b, const sweep_options& options) : body_(b), options_(options) {}

  // Throws the failure, unless failures are counted.
  void run(const sweep_run& r, std::FILE* trace_to = nullptr);
  void count_seed() noexcept { ++result_.seeds; }
  sweep_result finish();

 private:
  struct failed_run {
    sweep_run run;
    run_failure failure;
    script decisions;
    bool diverged;  // and did not fail
  };
  struct failure_count {
    run_failure first;
    std::string run;  // the name of the first run that failed so
    std::uint64_t runs = 0;
  };

  [[nodiscard]] std::string run_again(const sweep_run& r, world& first) const;
  void count(const sweep_run& r, const run_failure& failure);
  [[nodiscard]] std::string describe_counts() const;
  [[nodiscard]] std::string replay_hint(const std::string& variables) const;
  [[nodiscard]] std::string report(const failed_run& f, const script& shortest) const;
  [[noreturn]] void fail(const failed_run& f) const;

  const world::body& body_;
  const sweep_options& options_;
  sweep_result result_;
  std::uint64_t runs_ = 0;
  std::uint64_t failures_ = 0;
  std::optional<failed_run> first_failed_;
  std::vector<failure_count> counts_;
};

// Runs a successful run once more. Returns a description of the difference; empty: none.
std::string sweeper::run_again(const sweep_run& r, world& first) const {
  if (!options_.check_repeatable) return {};
  const auto again = r.create_world(options_.world);
  run_and_catch(*again, body_, r.variables());
  return find_divergence(first, *again);
}

void sweeper::run(const sweep_run& r, std::FILE* trace_to) {
  const auto w = r.create_world(options_.world);
  if (trace_to) w->trace({.ends = 0, .to = trace_to});
  run_failure failure = run_and_catch(*w, body_, r.variables());
  ++runs_;
  result_.steps += w->steps();
  result_.virtual_time += w->now().time_since_epoch();
  bool diverged = false;
  if (!failure) {
    failure.what = run_again(r, *w);
    if (!failure) return;
    failure.shape = "diverged";
    diverged = true;
  }
  count(r, failure);
  if (!first_failed_) first_failed_ = {r, std::move(failure), get_script(*w), diverged};
  if (!options_.count_failures) fail(*first_failed_);
}

sweep_result sweeper::finish() {
  if (first_failed_) fail(*first_failed_);
  return result_;
}

void sweeper::count(const sweep_run& r, const run_failure& failure) {
  ++failures_;
  auto same = std::ranges::find_if(
      counts_, [&](const failure_count& c) { return failure.is_like(c.first); });
  if (same == counts_.end()) same = counts_.insert(same, {failure, r.name()});
  ++same->runs;
}

std::string sweeper::describe_counts() const {
  std::ostringstream text;
  text << failures_ << " of " << runs_ << " runs failed:\n";
  for (const failure_count& c : counts_) {
    const std::string& what = c.first.what;
    text << "  " << c.runs << " times, first " << c.run << ": " << what.substr(0, what.find('\n'))
         << '\n';
  }
  return std::move(text).str();
}

std::string sweeper::replay_hint(const std::string& variables) const {
  return "replay: " + variables + ' ' +
         (options_.replay.empty() ? "and the same program" : options_.replay) + '\n';
}

std::string sweeper::report(const failed_run& f, const script& shortest) const {
  world w(shortest, f.run.seed, options_.world);
  w.trace({.ends = traced_lines_per_end});
  const std::string variables = replay_variables(f.run.seed, shortest);
  const run_failure again = run_and_catch(w, body_, variables);
  const bool repeatable = again.is_like(f.failure);
  std::ostringstream text;
  text << f.run.name() << ": " << f.failure.what << '\n' << replay_hint(f.run.variables());
  if (!repeatable) {
    text << "not repeatable: with the same decisions the run "
         << (again ? "failed with: " + again.what : "succeeded")
         << "; it depends on something outside the world, such as an earlier run, real time, "
            "addresses or other threads\n";
  } else if (count_non_default(shortest) < count_non_default(f.decisions)) {
    text << "shortest run found";
    if (again.what != f.failure.what) text << ": " << again.what;
    text << '\n';
    if (variables.size() < max_variables) text << replay_hint(variables);
  }
  text << "schedule" << (repeatable ? "" : " of that run") << ", with "
       << count_non_default(shortest) << " non-default decisions ("
       << count_non_default(f.decisions) << " before shrinking):\n";
  for (const std::string& line : w.schedule()) text << "  " << line << '\n';
  return std::move(text).str();
}

void sweeper::fail(const failed_run& f) const {
  const std::string counts = options_.count_failures ? describe_counts() : std::string();
  if (f.diverged) {
    throw seed_failed(
        f.run.seed, f.decisions,
        counts + f.run.name() + ": " + f.failure.what + '\n' + replay_hint(f.run.variables()),
        failures_);
  }
  const script shortest = f.run.decisions ? *f.run.decisions
                                          : shrink(body_, f.run.seed, f.decisions, options_.world,
                                                   options_.shrink_runs);
  throw seed_failed(f.run.seed, shortest, counts + report(f, shortest), failures_);
}

}  // namespace

// Delta debugging: replaces smaller and smaller parts by defaults while the run fails alike.
script shrink(const world::body& b, std::uint64_t seed, script s, const world_options& options,
              std::size_t max_runs) {
  std::size_t runs = 0;
  std::uint64_t steps = 0;
  const auto run = [&](const script& candidate) {
    ++runs;
    world w(candidate, seed, options);
    run_failure failure = run_and_catch(w, b, replay_variables(seed, candidate));
    steps += w.steps();
    return failure;
  };
  const auto within_budget = [&] { return runs < max_runs && steps < max_shrink_steps; };
  const run_failure original = run(s);
  if (!original) return s;
  trim(s);
  for (std::size_t part = std::max<std::size_t>(s.size() / 2, 1); within_budget();) {
    bool progress = false;
    // From the end: late decisions depend on early ones.
    for (std::size_t end = s.size(); end > 0 && within_budget(); end -= std::min(part, end)) {
      const std::size_t begin = end - std::min(part, end);
      script candidate = s;
      std::fill(candidate.begin() + static_cast<std::ptrdiff_t>(begin),
                candidate.begin() + static_cast<std::ptrdiff_t>(std::min(end, candidate.size())),
                0U);
      if (candidate == s) continue;
      if (!run(candidate).is_like(original)) continue;
      s = std::move(candidate);
      progress = true;
    }
    trim(s);
    if (part == 1 && !progress) break;
    if (!progress || part > 1) part = std::max<std::size_t>(part / 2, 1);
  }
  return s;
}

sweep_result sweep(const world::body& b, const sweep_options& options) {
  sweeper s(b, options);
  if (const std::optional<replayed_run> replayed = replayed_run_from_environment(options.first)) {
    s.count_seed();
    s.run({replayed->seed, replayed->decisions}, stderr);
    return s.finish();
  }
  if (options.count > 0) s.run({options.first, script()});
  for (std::uint64_t i = 0; i < options.count; ++i) {
    s.count_seed();
    s.run({options.first + i, std::nullopt});
  }
  return s.finish();
}

}  // namespace LEAT::sim
