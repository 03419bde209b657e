#include "train/supervisor/run_phase.hpp"

#include "support/leat_test.hpp"
#include "train/monitored/session_phase.hpp"
#include "train/supervisor/internal/phase_machine.hpp"

namespace run_phase_test {

using leat::detail::may_follow;
using leat::detail::phase_machine;
using leat::detail::run_phase;
using leat::detail::session_phase;

TEST_CASE("run_phase: each phase follows only the one before it", "[train]") {
  using enum run_phase;
  const std::vector<run_phase> order{idle, starting, running, stopping, finishing, idle};
  for (std::size_t from = 0; from < 5; ++from) {
    for (std::size_t to = 0; to < 5; ++to) {
      CHECK(may_follow(order[from], order[to]) == (order[to] == order[from + 1]));
    }
  }
}

TEST_CASE("session_phase: a session that has failed or ended is never open again", "[train]") {
  using enum session_phase;
  CHECK(may_follow(opening, failed));
  CHECK(may_follow(recovering, running));
  for (const session_phase ended : {failed, closing, closed}) {
    for (const session_phase later : {created, opening, open, running, recovering}) {
      CHECK_FALSE(may_follow(ended, later));
    }
    CHECK(may_follow(ended, closing));
  }
  for (const session_phase run : {running, recovering}) CHECK_FALSE(may_follow(run, closing));
}

TEST_CASE("phase_machine: a phase out of order ends the process", "[train]") {
  phase_machine<run_phase> phase;
  phase.enter(run_phase::starting);
  CHECK(phase.is(run_phase::starting));
  const std::string text = leat_test::abort_message([&] { phase.enter(run_phase::stopping); });
  CHECK(leat_test::contains(text, "phase entered out of order"));
  CHECK(phase.now() == run_phase::starting);
}

}  // namespace run_phase_test
