// One of several ranks that learn in step, as with an all-reduce between them: each rank sends its
// lines to all ranks, and all ranks learn them. Each rank saves every third step in its own
// directory.
//
//     learn_in_step LINES_DIRECTORY LOGDIR RANK RANKS [RANKS BEFORE]
//
// In each step a rank writes "COUNT HIGH LOW" for its lines, or "end". It then reads the messages
// of all ranks from one line, with a ';' after each message. After a kill and a restart all ranks
// resume from one step. Another number of ranks resumes from the saved steps of the previous ranks.

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <iostream>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <leat/leat.hpp>

namespace {

using leat::task;

struct settings {
  std::string lines;
  std::string logdir;
  std::uint64_t rank = 0;
  std::uint64_t ranks = 1;
  std::uint64_t before = 0;  // 0: no previous ranks
};

std::vector<std::string> directories_of(const settings& s, std::uint64_t ranks) {
  std::vector<std::string> all;
  for (std::uint64_t rank = 0; rank < ranks; ++rank) {
    all.push_back(s.logdir + "/of-" + std::to_string(ranks) + "/rank-" + std::to_string(rank));
  }
  return all;
}

// The lines that all ranks have learnt. It is equal in all ranks.
struct tally {
  [[nodiscard]] std::string save() const {
    std::ostringstream text;
    text << seen.count() << ' ' << seen.high() << ' ' << seen.low();
    return text.str();
  }
  void restore(std::string_view bytes) { seen = parsed(std::string(bytes)); }

  static leat::epoch_fingerprint parsed(const std::string& text) {
    std::istringstream from(text);
    std::uint64_t count = 0;
    std::uint64_t high = 0;
    std::uint64_t low = 0;
    if (!(from >> count >> high >> low)) {
      throw leat::failure(leat::errc::invalid_argument, "no tally: '" + text + "'");
    }
    return {count, high, low};
  }

  leat::epoch_fingerprint seen;
};

// Sends `mine` to the other ranks and learns the lines of all. Returns false if all ranks have
// ended.
bool learn_together(const std::string& mine, tally& learnt) {
  std::cout << mine << std::endl;
  std::string all;
  if (!std::getline(std::cin, all)) {
    throw leat::failure(leat::errc::unavailable, "another rank has ended");
  }
  bool more = false;
  std::istringstream parts(all);
  for (std::string part; std::getline(parts, part, ';');) {
    if (part == "end") continue;
    learnt.seen += tally::parsed(part);
    more = true;
  }
  return more;
}

task<> learn(settings chosen) {
  auto batches = leat::read_files<leat::line_reader>(
                     {.files = {chosen.lines + "/*"},
                      .num_epochs = 2,
                      .shuffle = true,
                      .seed = 1,
                      .interleave = 2,
                      .world = {.rank = chosen.rank, .world_size = chosen.ranks}})
                     .batch({.batch_size = 7})
                     .prefetch(2);
  std::int64_t step = 0;
  tally learnt;
  leat::checkpoint_registry state("lines");
  state.add("global_step", step);
  state.add("learnt", learnt);
  state.add("input", batches);

  leat::supervisor_options o;
  o.logdir = directories_of(chosen, chosen.ranks).at(chosen.rank);
  o.state = &state;
  o.saver.rank_directories = directories_of(chosen, chosen.ranks);
  o.save_model_interval =
      leat::duration::zero();  // saves by steps, because the clocks of the ranks differ
  o.write_events = false;
  o.sessions.init = [&](leat::session&) -> task<void> {
    if (chosen.before == 0) co_return;
    std::vector<std::string> from = directories_of(chosen, chosen.before);
    const auto found = co_await leat::find_rank_checkpoints(std::move(from));
    if (!found) co_return;
    std::vector<std::string> states;
    for (const std::string& path : found->paths) {
      std::string input = co_await leat::read_saved_object(path, "input");
      states.push_back(std::move(input));
    }
    const std::string model = co_await leat::read_saved_object(found->paths.front(), "learnt");
    learnt.restore(model);
    step = static_cast<std::int64_t>(found->step);
    co_await batches.restore_ranks(std::move(states));
  };
  leat::supervisor sv(std::move(o));
  const auto body = [&]() -> task<void> {
    std::cout << "begins at step " << step << std::endl;
    std::exception_ptr error;
    try {
      for (bool more = true; more;) {
        const auto batch = co_await batches.next();
        leat::epoch_fingerprint mine;
        if (batch) {
          for (const std::string_view line : *batch) mine.add(0, leat::as_bytes(line));
        }
        more = learn_together(batch ? tally{mine}.save() : "end", learnt);
        if (more && ++step % 3 == 0) static_cast<void>(co_await sv.save());
      }
    } catch (...) {
      error = std::current_exception();
    }
    co_await batches.stop();
    if (error) std::rethrow_exception(error);
  };
  co_await sv.managed(body);
  std::cout << "learnt " << leat::to_string(learnt.seen) << std::endl;
}

}  // namespace

int main(int argc, char** argv) try {
  if (argc < 5) {
    std::fprintf(stderr, "usage: learn_in_step LINES LOGDIR RANK RANKS [RANKS BEFORE]\n");
    return 2;
  }
  settings chosen{.lines = argv[1],
                  .logdir = argv[2],
                  .rank = std::strtoull(argv[3], nullptr, 10),
                  .ranks = std::strtoull(argv[4], nullptr, 10)};
  if (argc > 5) chosen.before = std::strtoull(argv[5], nullptr, 10);
  leat::block_on(learn(std::move(chosen)));
  return 0;
} catch (const leat::failure& e) {
  std::fprintf(stderr, "learn_in_step: %s\n", e.what());
  return e.code() == leat::errc::unavailable ? 3 : 1;
} catch (const std::exception& e) {
  std::fprintf(stderr, "learn_in_step: %s\n", e.what());
  return 1;
}
