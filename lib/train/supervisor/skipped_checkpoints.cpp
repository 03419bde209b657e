#include "train/supervisor/skipped_checkpoints.hpp"

#include <algorithm>
#include <utility>

namespace LEAT::detail {
namespace {

std::string remove_all(std::string text, const std::string& path) {
  if (path.empty()) return text;
  for (std::size_t at = 0; (at = text.find(path, at)) != std::string::npos;) {
    text.erase(at, path.size());
  }
  return text;
}

}  // namespace

void skipped_checkpoints::add(std::string path, std::string why) {
  if (why.find(path) == std::string::npos) why = path + ": " + why;
  std::string reason = remove_all(why, path);
  auto found = std::ranges::find(groups_, reason, &group::reason);
  if (found == groups_.end()) {
    groups_.push_back({std::move(reason), std::move(why), {}});
    found = groups_.end() - 1;
  }
  found->paths.push_back(std::move(path));
}

std::vector<std::string> skipped_checkpoints::take_warnings() {
  std::vector<std::string> warnings;
  for (const group& g : std::exchange(groups_, {})) {
    if (g.paths.size() == 1) {
      warnings.push_back("checkpoint skipped: " + g.why);
      continue;
    }
    std::string text = std::to_string(g.paths.size()) + " checkpoints skipped (";
    const std::size_t named = std::min(g.paths.size(), max_named_);
    for (std::size_t i = 0; i < named; ++i) text += (i == 0 ? "" : ", ") + g.paths[i];
    if (named < g.paths.size()) text += ", " + std::to_string(g.paths.size() - named) + " more";
    warnings.push_back(text + "): " + g.why);
  }
  return warnings;
}

}  // namespace LEAT::detail
