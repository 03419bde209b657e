#include "sim/world/replay.hpp"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <stdexcept>
#include <string_view>

namespace LEAT::sim {
namespace {

// The script of a run in which every decision is option 0.
constexpr std::string_view default_script = "default";

// More decisions than any run makes.
constexpr std::size_t max_decisions = 100'000'000;

template <class Number>
bool parse(std::string_view text, Number& n) {
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, n);
  return error == std::errc() && stop == end;
}

// Removes and returns the part of `text` before `separator`, or all of it.
std::string_view take_part(std::string_view& text, char separator) {
  const std::string_view part = text.substr(0, text.find(separator));
  text.remove_prefix(std::min(part.size() + 1, text.size()));
  return part;
}

// Parses the non-default decisions, each as its index and its option, in ascending order.
std::optional<std::vector<std::uint32_t>> parse_decisions(std::string_view text) {
  std::vector<std::uint32_t> decisions;
  if (text == default_script) return decisions;
  while (!text.empty()) {
    std::string_view option = take_part(text, ',');
    const std::string_view at = take_part(option, ':');
    std::size_t index = 0;
    std::uint32_t chosen = 0;
    if (!parse(at, index) || !parse(option, chosen)) return std::nullopt;
    if (index < decisions.size() || index >= max_decisions) return std::nullopt;
    decisions.resize(index);
    decisions.push_back(chosen);
  }
  return decisions;
}

std::string text_of(const std::vector<std::uint32_t>& decisions) {
  std::string text;
  for (std::size_t i = 0; i < decisions.size(); ++i) {
    if (decisions[i] == 0) continue;
    if (!text.empty()) text += ',';
    text.append(std::to_string(i)).append(":").append(std::to_string(decisions[i]));
  }
  return text.empty() ? std::string(default_script) : text;
}

}  // namespace

std::optional<replayed_run> replayed_run_from_environment(std::uint64_t first) {
  const char* const seed = std::getenv("LEAT_SIM_SEED");
  const char* const decisions = std::getenv("LEAT_SIM_DECISIONS");
  const bool has_seed = seed && *seed;
  const bool has_decisions = decisions && *decisions;
  if (!has_seed && !has_decisions) return std::nullopt;
  replayed_run run{first, std::nullopt};
  if (has_seed && !parse(std::string_view(seed), run.seed)) {
    throw std::invalid_argument("LEAT_SIM_SEED is '" + std::string(seed) +
                                "': set a number from 0 to 2^64 - 1");
  }
  if (has_decisions) {
    run.decisions = parse_decisions(decisions);
    if (!run.decisions) {
      throw std::invalid_argument("LEAT_SIM_DECISIONS is '" + std::string(decisions) +
                                  "': copy the value from a report, such as 17:1,40:3 or default");
    }
  }
  return run;
}

std::string replay_variables(std::uint64_t seed,
                             const std::optional<std::vector<std::uint32_t>>& decisions) {
  const std::string text = "LEAT_SIM_SEED=" + std::to_string(seed);
  return decisions ? text + " LEAT_SIM_DECISIONS=" + text_of(*decisions) : text;
}

}  // namespace LEAT::sim
