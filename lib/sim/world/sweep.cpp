#include "leat/sim/world/sweep.hpp"

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <sstream>
#include <typeinfo>

#include "leat/base/detail/assert.hpp"

namespace leat::sim {
namespace {

using script = std::vector<std::uint32_t>;

// A failing run may have millions of steps: the report has this many lines of each end.
constexpr std::size_t traced_lines_per_end = 1000;

// Enough for all runs of most programs, and for a few that do not end.
constexpr std::uint64_t max_shrink_steps = 20'000'000;

// How a run failed; two failures are equal if they are of one kind.
struct run_failure {
  std::string kind;  // empty: it did not fail
  std::string what;
};

// Names the seed when an assertion ends the process.
class assertion_seed_note {
 public:
  explicit assertion_seed_note(std::uint64_t seed)
      : text_("in a simulated world; replay: LEAT_SIM_SEED=" + std::to_string(seed)) {
    leat::detail::assertion_note = text_.c_str();
  }
  assertion_seed_note(const assertion_seed_note&) = delete;
  assertion_seed_note& operator=(const assertion_seed_note&) = delete;
  ~assertion_seed_note() { leat::detail::assertion_note = nullptr; }

 private:
  const std::string text_;
};

run_failure run_and_catch(world& w, const world::body& b) {
  const assertion_seed_note named(w.seed());
  try {
    w.run(b);
  } catch (const invariant_violation& e) {
    // The name of the violated invariant, without steps and counts.
    std::string name = e.what();
    std::erase_if(name, [](char c) { return '0' <= c && c <= '9'; });
    return {typeid(e).name() + name, e.what()};
  } catch (const std::exception& e) {
    return {typeid(e).name(), e.what()};
  } catch (...) {
    return {"unknown", "exception that is not a std::exception"};
  }
  return {};
}

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

std::string replay_hint(std::uint64_t seed, const sweep_options& options) {
  return "replay: LEAT_SIM_SEED=" + std::to_string(seed) + ' ' +
         (options.replay.empty() ? "and the same program" : options.replay) + '\n';
}

std::string report(const world::body& b, std::uint64_t seed, const run_failure& failure,
                   const script& original, const script& shortest, const sweep_options& options) {
  world w(shortest, seed, options.world);
  w.trace({.ends = traced_lines_per_end});
  const run_failure again = run_and_catch(w, b);
  const bool alike = again.kind == failure.kind;
  std::ostringstream text;
  text << "seed " << seed << ": " << (alike ? again : failure).what << '\n'
       << replay_hint(seed, options);
  if (!alike) {
    text << "not repeatable: with the same decisions the run "
         << (again.kind.empty() ? "succeeded" : "failed with: " + again.what)
         << "; it depends on something outside the world, such as an earlier run, real time, "
            "addresses or other threads\n";
  }
  text << "schedule" << (alike ? "" : " of that run") << ", with " << count_non_default(shortest)
       << " non-default decisions (" << count_non_default(original) << " before shrinking):\n";
  for (const std::string& line : w.schedule()) text << "  " << line << '\n';
  return text.str();
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

// The value of LEAT_SIM_SEED; empty if it is not set.
std::optional<std::uint64_t> seed_from_environment() {
  const char* const text = std::getenv("LEAT_SIM_SEED");
  if (!text || !*text) return std::nullopt;
  std::uint64_t seed = 0;
  const char* const end = text + std::strlen(text);
  const auto [stop, error] = std::from_chars(text, end, seed);
  if (error == std::errc() && stop == end) return seed;
  throw std::invalid_argument("LEAT_SIM_SEED is '" + std::string(text) +
                              "': set a number from 0 to 2^64 - 1");
}

}  // namespace

// Delta debugging: replaces smaller and smaller parts by defaults while the run fails alike.
script shrink(const world::body& b, std::uint64_t seed, script s, const world_options& options,
              std::size_t max_runs) {
  std::size_t runs = 0;
  std::uint64_t steps = 0;
  const auto fails = [&](const script& candidate) {
    ++runs;
    world w(candidate, seed, options);
    std::string kind = run_and_catch(w, b).kind;
    steps += w.steps();
    return kind;
  };
  const auto within_budget = [&] { return runs < max_runs && steps < max_shrink_steps; };
  const std::string kind = fails(s);
  if (kind.empty()) return s;
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
      if (fails(candidate) != kind) continue;
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
  sweep_result result;
  std::uint64_t first = options.first;
  std::uint64_t count = options.count;
  const std::optional<std::uint64_t> alone = seed_from_environment();
  if (alone) {
    first = *alone;
    count = 1;
  }
  for (std::uint64_t seed = first; seed - first < count; ++seed) {
    world w(seed, options.world);
    if (alone) w.trace({.ends = 0, .to = stderr});
    const run_failure f = run_and_catch(w, b);
    ++result.seeds;
    result.steps += w.steps();
    result.virtual_time += w.now().time_since_epoch();
    const script original = get_script(w);
    if (f.kind.empty()) {
      if (!options.check_repeatable) continue;
      world again(seed, options.world);
      run_and_catch(again, b);
      const std::string divergence = find_divergence(w, again);
      if (divergence.empty()) continue;
      throw seed_failed(
          seed, original,
          "seed " + std::to_string(seed) + ": " + divergence + "\n" + replay_hint(seed, options));
    }
    const script shortest = shrink(b, seed, original, options.world, options.shrink_runs);
    throw seed_failed(seed, shortest, report(b, seed, f, original, shortest, options));
  }
  return result;
}

}  // namespace leat::sim
