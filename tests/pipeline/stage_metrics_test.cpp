#include "leat/pipeline/stage_metrics.hpp"

#include <catch2/catch.hpp>

namespace {

using namespace std::chrono_literals;

// A verdict on two stages that waited for so many of 10 seconds.
std::string judged(leat::duration reader_for_room, leat::duration consumer_for_input) {
  leat::stage_metrics reader("reader");
  leat::stage_metrics consumer("consumer");
  reader.add_task();
  consumer.add_task();
  reader.add_wait_for_room(reader_for_room);
  consumer.add_wait_for_input(consumer_for_input);
  const leat::stage_metrics* const stages[] = {&reader, &consumer};
  return leat::verdict(stages, 10s);
}

}  // namespace

TEST_CASE("verdict: names the stage that hardly waits", "[pipeline]") {
  CHECK(
      judged(1s, 9s) ==
      "The bottleneck is 'reader': its tasks waited 10 % of the time, while 'consumer' waited 90 % "
      "for input.");
  CHECK(
      judged(9s, 0s) ==
      "The bottleneck is 'consumer': its tasks waited 0 % of the time, while 'reader' waited 90 % "
      "for room.");
}
