#include "sim/world/run_failure.hpp"

#include <algorithm>
#include <exception>
#include <sstream>
#include <string>
#include <string_view>
#include <typeinfo>
#include <vector>

#include "leat/base/internal/assert.hpp"

namespace LEAT::sim {
namespace {

// Tells how to replay the run when an assertion ends the process.
class assertion_replay_note {
 public:
  explicit assertion_replay_note(const std::string& variables)
      : text_("in a simulated world; replay: " + variables) {
    leat::detail::assertion_note = text_.c_str();
  }
  assertion_replay_note(const assertion_replay_note&) = delete;
  assertion_replay_note& operator=(const assertion_replay_note&) = delete;
  ~assertion_replay_note() { leat::detail::assertion_note = nullptr; }

 private:
  const std::string text_;
};

std::string without_digits(std::string text) {
  std::erase_if(text, [](char c) { return '0' <= c && c <= '9'; });
  return text;
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(std::move(line));
  return lines;
}

// The lines that name a source location. Others contain the number of the tasks that wait, which is
// also left out of the waits of joins.
std::string waits_of(const std::string& deadlock_text) {
  std::string waits;
  for (std::string& line : lines_of(deadlock_text)) {
    if (line.find(", at ") == line.npos) continue;
    if (const auto plural = line.find("tasks live"); plural != line.npos) line.erase(plural + 4, 1);
    waits += line + '\n';
  }
  return waits;
}

run_failure failure_of(const std::exception& e) {
  const std::string what = *e.what() ? e.what() : typeid(e).name();
  if (dynamic_cast<const step_limit_exceeded*>(&e)) return {typeid(e).name(), what, {}};
  const bool is_deadlock = dynamic_cast<const deadlock*>(&e);
  return {typeid(e).name(), what, without_digits(is_deadlock ? waits_of(what) : what)};
}

}  // namespace

bool run_failure::is_like(const run_failure& other) const {
  if (type != other.type || what.empty() != other.what.empty()) return false;
  if (shape == other.shape) return true;
  const std::vector<std::string> known = lines_of(other.shape);
  return !shape.empty() && std::ranges::all_of(lines_of(shape), [&](const std::string& line) {
    return std::ranges::find(known, line) != known.end();
  });
}

run_failure run_and_catch(world& w, const world::body& b, const std::string& variables) {
  const assertion_replay_note noted(variables);
  try {
    w.run(b);
  } catch (const std::exception& e) {
    return failure_of(e);
  } catch (...) {
    return {"unknown", "exception that is not a std::exception", {}};
  }
  return {};
}

}  // namespace LEAT::sim
