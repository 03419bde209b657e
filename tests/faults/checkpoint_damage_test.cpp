// Cuts a checkpoint and the state file of a directory at every byte, and flips every bit of both.
// The saver refuses a damaged checkpoint before it changes any value, and restores the previous
// checkpoint. A state file has no checksum, because users may edit it. The saver either refuses a
// damaged state file, or reads one with another text or number. In both cases it restores only a
// checkpoint as it was saved.

#include <algorithm>

#include "faults/damage_effort.hpp"
#include "faults/damaged_files.hpp"
#include "leat/base/random.hpp"
#include "leat/codec/checkpoint/checkpoint_state.hpp"
#include "leat/train/checkpoint/checkpoint_directory.hpp"
#include "leat/train/checkpoint/saver.hpp"
#include "support/leat_test.hpp"
#include "support/temp_dir.hpp"

namespace checkpoint_damage_test {

using leat::checkpoint_state;
using leat::saver;
using leat_test::outcome;
using namespace leat_test::damaged;
using names = std::vector<std::string>;

// One variable of each kind: a value, a list, a text and an object that saves itself.
struct program {
  explicit program(std::size_t bytes) : weights(bytes / sizeof(float)), what("damage") {
    what.add("step", step);
    what.add("weights", weights);
    what.add("note", note);
    what.add("input", input);
  }
  program(const program&) = delete;
  program& operator=(const program&) = delete;

  struct object {
    [[nodiscard]] std::string save() const { return state; }
    void restore(std::string_view bytes) { state = bytes; }
    std::string state;
  };

  void set(std::int64_t n) {
    leat::random_engine random(static_cast<std::uint64_t>(n));
    step = n;
    for (float& w : weights) w = static_cast<float>(random.uniform_below(1000));
    note = "step " + std::to_string(n);
    input.state = note + ", as an object";
  }
  [[nodiscard]] bool is(std::int64_t n) const {
    program other(weights.size() * sizeof(float));
    other.set(n);
    return step == n && weights == other.weights && note == other.note &&
           input.state == other.input.state;
  }

  leat::saver_options options() {
    leat::saver_options o;
    o.durable = false;
    o.on_skipped = [this](const std::string& path, const std::exception_ptr&) {
      refused.push_back(path);
    };
    return o;
  }

  std::int64_t step = 0;
  std::vector<float> weights;
  std::string note;
  object input;
  leat::checkpoint_registry what;
  names refused;
};

task<std::string> save(saver& s, program& p, std::int64_t step) {
  p.set(step);
  co_return co_await s.save(static_cast<std::uint64_t>(step));
}

// ------------------------------------------------------------------------------- the checkpoints

constexpr std::int64_t none = 77;  // values before a restore

// Damages the checkpoint of step 2.
task<std::string> problem_of(saver& s, program& p, std::string path, std::size_t at) {
  p.set(none);
  const outcome o = co_await leat_test::outcome_of(s.restore(path));
  const bool is_none = at < 8;  // in the magic number
  if (o.code != errc::data_loss && !(is_none && o.code == errc::invalid_argument)) {
    co_return "it was not refused as damaged: " + o.text;
  }
  if (!leat_test::contains(o.text, path)) co_return "it is not named: " + o.text;
  if (!p.is(none)) co_return "values have changed";
  p.refused.clear();
  const std::optional<std::string> restored = co_await s.restore_latest();
  if (restored != s.path_of(1) || !p.is(1)) co_return "the one before it was not taken";
  if (p.refused != names{path}) co_return "nobody was told";
  co_return "";
}

task<> try_checkpoint(std::string directory, std::size_t bytes, bool each) {
  program p(bytes);
  saver s = co_await saver::open(std::move(directory), p.what, p.options());
  co_await save(s, p, 1);
  const std::string path = co_await save(s, p, 2);
  sample_file f(path, temp_dir::read(path));
  const std::size_t size = f.content().size();
  const std::size_t bits = each ? 1 : stride_for(size * 8, 4 * size);
  const std::size_t cuts = each ? 1 : stride_for(size, 4 * size);
  tell("checkpoint", size, bits, cuts);
  const auto problem_at = [&](std::size_t at) { return problem_of(s, p, path, at); };
  co_await flip_bits(f, bits, problem_at);
  p.set(none);
  const std::optional<std::string> restored = co_await s.restore_latest();
  CHECK((restored == path && p.is(2)));
  co_await cut_shorter(f, cuts, problem_at);
}

TEST_CASE("damage: every bit and every cut of a checkpoint", "[faults]") {
  const temp_dir dir;
  leat::block_on(try_checkpoint(dir.path(), leat_test::slow_build ? 8 : 400, true));
}

TEST_CASE("damage: every bit and every cut of a large checkpoint", "[faults]") {
  const temp_dir dir;
  leat::block_on(try_checkpoint(dir.path(), sample_size(), false));
}

// ------------------------------------------------------------------------------- the state files

std::optional<checkpoint_state> parsed(std::string_view text) {
  try {
    return checkpoint_state::from_text(text);
  } catch (const leat::failure& e) {
    if (e.code() != errc::invalid_argument) throw;
  }
  return std::nullopt;
}

template <class T>
std::size_t differences(const std::vector<T>& a, const std::vector<T>& b) {
  if (a.size() != b.size()) return SIZE_MAX / 2;
  std::size_t count = 0;
  for (std::size_t i = 0; i < a.size(); ++i) count += a[i] == b[i] ? 0U : 1U;
  return count;
}

// Returns the number of texts and numbers that differ between two states.
std::size_t differences(const checkpoint_state& a, const checkpoint_state& b) {
  return (a.model_checkpoint_path == b.model_checkpoint_path ? 0U : 1U) +
         differences(a.all_model_checkpoint_paths, b.all_model_checkpoint_paths) +
         differences(a.all_model_checkpoint_timestamps, b.all_model_checkpoint_timestamps) +
         (a.last_preserved_timestamp == b.last_preserved_timestamp ? 0U : 1U);
}

template <class T>
bool begins(const std::vector<T>& whole, const std::vector<T>& part, std::size_t but_last) {
  return part.size() <= whole.size() &&
         std::equal(part.begin(), part.end() - static_cast<std::ptrdiff_t>(but_last),
                    whole.begin());
}

// Returns true if `part` is `whole` cut off at some byte. Only the last number of `part` may
// differ.
bool begins(const checkpoint_state& whole, const checkpoint_state& part) {
  const auto& times = part.all_model_checkpoint_timestamps;
  return (part.model_checkpoint_path.empty() ||
          part.model_checkpoint_path == whole.model_checkpoint_path) &&
         begins(whole.all_model_checkpoint_paths, part.all_model_checkpoint_paths, 0) &&
         begins(whole.all_model_checkpoint_timestamps, times, times.empty() ? 0 : 1);
}

TEST_CASE("damage: a corrupt or truncated state file has at most one other text", "[faults]") {
  checkpoint_state state;
  leat::random_engine random(3);
  for (std::size_t bytes = 0; bytes < sample_size(); bytes += 100) {
    state.all_model_checkpoint_paths.push_back("model.ckpt-" +
                                               std::to_string(random.uniform_below(9000)));
    state.all_model_checkpoint_timestamps.push_back(1.5e9 + static_cast<double>(bytes) / 8);
  }
  state.model_checkpoint_path = state.all_model_checkpoint_paths.back();
  state.last_preserved_timestamp = 1.4e9;
  std::string text = state.to_text();
  const std::size_t bits = stride_for(text.size() * 8, 8 * text.size());
  const std::size_t cuts = stride_for(text.size(), 8 * text.size());
  tell("checkpoint_state", text.size(), bits, cuts);
  for (std::size_t bit = 0; bit < text.size() * 8; bit += bits) {
    char& c = text[bit / 8];
    const char was = c;
    c = static_cast<char>(c ^ (1 << bit % 8));
    const std::optional<checkpoint_state> found = parsed(text);
    if (found && differences(*found, state) > 1) FAIL("bit " << bit);
    c = was;
  }
  for (std::size_t cut = 0; cut < text.size(); cut += cuts) {
    const std::optional<checkpoint_state> found = parsed(std::string_view(text).substr(0, cut));
    if (found && !begins(state, *found)) FAIL("cut at " << cut);
  }
}

// Checks the checkpoint that a new saver restores from the directory, regardless of the state file.
task<std::string> problem_of_state(std::string directory) {
  program p(40);
  p.set(none);
  saver s = co_await saver::open(std::move(directory), p.what, p.options());
  const std::optional<std::string> restored = co_await s.restore_latest();
  for (const std::int64_t step : {1, 2, 3}) {
    const std::string path = s.path_of(static_cast<std::uint64_t>(step));
    const bool there = co_await leat::checkpoint_exists(path);
    if (!there) co_return path + " is gone";
    if (restored == path && p.is(step)) co_return "";
  }
  co_return restored ? "other values were restored" : "nothing was restored";
}

task<> try_state(std::string directory) {
  program p(40);
  saver s = co_await saver::open(directory, p.what, p.options());
  for (const std::int64_t step : {1, 2, 3}) co_await save(s, p, step);
  const std::string path = directory + "/checkpoint";
  sample_file f(path, temp_dir::read(path));
  const auto problem_at = [&](std::size_t) { return problem_of_state(directory); };
  co_await flip_bits(f, leat_test::slow_build ? 23 : 1, problem_at);
  co_await cut_shorter(f, 1, problem_at);
}

TEST_CASE("damage: a corrupt state file restores checkpoints unchanged and deletes none",
          "[faults]") {
  const temp_dir dir;
  leat::block_on(try_state(dir.path()));
}

}  // namespace checkpoint_damage_test
