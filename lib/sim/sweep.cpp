#include "leat/sim/sweep.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <sstream>
#include <typeinfo>

#include "leat/core/assert.hpp"

namespace leat::sim {
namespace {

using script = std::vector<std::uint32_t>;

// How a run failed; two failures are the same when they are of one kind.
struct failure_of_run {
  std::string kind;  // empty: it did not fail
  std::string what;
};

// Names the seed when an assertion ends the process.
class assertion_names_seed {
 public:
  explicit assertion_names_seed(std::uint64_t seed)
      : text_("in a simulated world; again: LEAT_SIM_SEED=" + std::to_string(seed)) {
    leat::detail::assertion_note = text_.c_str();
  }
  assertion_names_seed(const assertion_names_seed&) = delete;
  assertion_names_seed& operator=(const assertion_names_seed&) = delete;
  ~assertion_names_seed() { leat::detail::assertion_note = nullptr; }

 private:
  const std::string text_;
};

failure_of_run run_in(world& w, const world::body& b) {
  const assertion_names_seed named(w.seed());
  try {
    w.run(b);
  } catch (const std::exception& e) {
    return {typeid(e).name(), e.what()};
  } catch (...) {
    return {"unknown", "something that is no std::exception"};
  }
  return {};
}

script choices_of(world& w) {
  script all;
  for (const choice& c : w.decisions().made()) all.push_back(c.chosen);
  return all;
}

// A script without the plain choices at its end, which need not be said.
void trim(script& s) {
  while (!s.empty() && s.back() == 0) s.pop_back();
}

std::size_t unusual(const script& s) {
  return static_cast<std::size_t>(
      std::count_if(s.begin(), s.end(), [](std::uint32_t c) { return c != 0; }));
}

std::string report(const world::body& b, std::uint64_t seed, const script& original,
                   const script& shortest, const sweep_options& options) {
  world w(shortest, seed, options.world);
  w.trace();
  const failure_of_run f = run_in(w, b);
  std::ostringstream text;
  text << "seed " << seed << ": " << f.what << "\nagain: LEAT_SIM_SEED=" << seed << ' '
       << (options.replay.empty() ? "and the same program" : options.replay) << "\nschedule, with "
       << unusual(shortest) << " unusual choices (of " << unusual(original) << " before):\n";
  for (const std::string& line : w.schedule()) text << "  " << line << '\n';
  return text.str();
}

}  // namespace

// Delta debugging: makes ever smaller parts of the script plain, as long as the run fails alike.
script shrink(const world::body& b, std::uint64_t seed, script s, const world_options& options,
              std::size_t max_runs) {
  std::size_t runs = 0;
  const auto fails = [&](const script& candidate) {
    ++runs;
    world w(candidate, seed, options);
    return run_in(w, b).kind;
  };
  const std::string kind = fails(s);
  if (kind.empty()) return s;
  trim(s);
  for (std::size_t part = std::max<std::size_t>(s.size() / 2, 1); runs < max_runs;) {
    bool progress = false;
    // From the end: what comes late depends on what comes early.
    for (std::size_t end = s.size(); end > 0 && runs < max_runs; end -= std::min(part, end)) {
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
  bool aloud = false;
  if (const char* const wanted = std::getenv("LEAT_SIM_SEED"); wanted && *wanted) {
    first = std::strtoull(wanted, nullptr, 10);
    count = 1;
    aloud = true;
  }
  for (std::uint64_t seed = first; seed - first < count; ++seed) {
    world w(seed, options.world);
    if (aloud) w.trace();
    const failure_of_run f = run_in(w, b);
    ++result.seeds;
    result.steps += w.steps();
    result.virtual_time += w.now().time_since_epoch();
    for (const std::string& line : w.schedule()) std::fprintf(stderr, "%s\n", line.c_str());
    if (f.kind.empty()) continue;
    const script original = choices_of(w);
    const script shortest = shrink(b, seed, original, options.world, options.shrink_runs);
    throw seed_failed(seed, shortest, report(b, seed, original, shortest, options));
  }
  return result;
}

}  // namespace leat::sim
