/// leat inside a GLib main loop, as in a GTK program, whose user interface stays responsive.
///
/// A GLib timeout produces a measurement on each tick; a task averages batches of measurements.

#include <cstdio>

#include <glib-unix.h>
#include <leat/leat.hpp>

namespace {

leat::task<> average(leat::fifo_queue<double>& measured, double& sum_of_averages) {
  for (;;) {
    const auto batch = co_await leat::with_timeout(measured.pop_up_to(4), std::chrono::minutes(1));
    if (!batch) co_return;  // closed and drained
    double sum = 0;
    for (const double m : *batch) sum += m;
    sum_of_averages += sum / static_cast<double>(batch->size());
  }
}

struct program {
  leat::embedded_scheduler scheduler;
  leat::fifo_queue<double> measured{16, "measured"};
  leat::task_group tasks{"tasks"};
  double result = 0;
  int ticks = 0;
  GMainLoop* loop = g_main_loop_new(nullptr, FALSE);
};

//! [callbacks]
gboolean on_ready(gint, GIOCondition, gpointer data) {  // the scheduler's descriptor is readable
  auto& p = *static_cast<program*>(data);
  p.scheduler.run_ready(256, std::chrono::milliseconds(2));  // a frame lasts 16 ms
  if (p.scheduler.idle()) g_main_loop_quit(p.loop);
  return G_SOURCE_CONTINUE;
}

gboolean on_tick(gpointer data) {
  auto& p = *static_cast<program*>(data);
  if (p.measured.try_push(p.ticks)) ++p.ticks;
  if (p.ticks < 10) return G_SOURCE_CONTINUE;
  p.measured.close();
  return G_SOURCE_REMOVE;
}
//! [/callbacks]

}  // namespace

int main() {
  program p;
  p.tasks.spawn_on(p.scheduler, average(p.measured, p.result), "average");
  g_unix_fd_add(p.scheduler.descriptor(), G_IO_IN, on_ready, &p);
  g_timeout_add(1, on_tick, &p);
  g_main_loop_run(p.loop);
  g_main_loop_unref(p.loop);
  leat::block_on(p.tasks.join());
  std::printf("the sum of the averages is %g\n", p.result);
  return p.result == 1.5 + 5.5 + 8.5 ? 0 : 1;
}
