#include "report.hpp"

#include <chrono>
#include <cstdio>
#include <unistd.h>

namespace {

bool on_terminal() { return ::isatty(STDOUT_FILENO) == 1; }

double seconds(leat::duration d) { return std::chrono::duration<double>(d).count(); }

double fill(const leat::queue_statistics& s) {
  return 100.0 * static_cast<double>(s.size) / static_cast<double>(s.capacity);
}

}  // namespace

void print_progress(const progress& p, const leat::stage_metrics& readers,
                    const leat::queue_statistics& files, const leat::queue_statistics& samples) {
  const double time = p.seconds > 0 ? p.seconds : 1;
  std::printf(
      "%s%6.1f s  %9.0f lines/s  %7.1f MB/s  files %3.0f %%  samples %3.0f %% full  "
      "loss %.4f  accuracy %.4f%s",
      on_terminal() ? "\r" : "", p.seconds, static_cast<double>(readers.records()) / time,
      static_cast<double>(readers.bytes()) / time / 1e6, fill(files), fill(samples), p.loss,
      p.accuracy, on_terminal() ? "\x1b[K" : "\n");
  std::fflush(stdout);
}

void end_progress() {
  if (on_terminal()) std::puts("");
}

void print_summary(std::span<const leat::stage_metrics* const> stages, leat::duration elapsed) {
  std::printf("\n%-12s %6s %12s %12s %16s %16s\n", "stage", "tasks", "records", "MB",
              "wait input s", "wait room s");
  for (const leat::stage_metrics* s : stages) {
    std::printf("%-12s %6llu %12llu %12.1f %16.3f %16.3f\n", s->name().c_str(),
                static_cast<unsigned long long>(s->tasks()),
                static_cast<unsigned long long>(s->records()),
                static_cast<double>(s->bytes()) / 1e6, seconds(s->waited_for_input()),
                seconds(s->waited_for_output()));
  }
  std::printf("%.3f s in all. %s\n", seconds(elapsed),
              leat::describe_bottleneck(stages, elapsed).c_str());
}
