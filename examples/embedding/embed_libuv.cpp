/// leat inside a libuv loop: a task reads a file, and a timer of the loop pops its lines. The queue
/// between them is bounded, so the task waits whenever the loop is slower.

#include <cstdio>
#include <string>

#include <leat/leat.hpp>
#include <uv.h>

namespace {

leat::task<> read(std::string path, leat::fifo_queue<std::string>& lines) {
  auto reader = co_await leat::line_reader::open(path);
  leat::line_batch batch;
  while (co_await reader->read_batch(batch)) {
    for (const std::string_view line : batch) {
      if (!co_await lines.push(std::string(line))) co_return;
    }
  }
}

struct program {
  leat::embedded_scheduler scheduler;
  leat::fifo_queue<std::string> lines{8, "lines"};
  leat::task_group reading{"reading"};
  std::size_t taken = 0;
  uv_poll_t ready{};
  uv_timer_t timer{};
};

//! [callbacks]
void on_ready(uv_poll_t* handle, int, int) {  // the scheduler's descriptor is readable
  static_cast<program*>(handle->data)->scheduler.run_ready(64, std::chrono::milliseconds(1));
}

void on_tick(uv_timer_t* handle) {
  auto& p = *static_cast<program*>(handle->data);
  while (p.lines.try_pop()) ++p.taken;
  if (!p.scheduler.idle()) return;
  uv_close(reinterpret_cast<uv_handle_t*>(&p.ready), nullptr);
  uv_close(reinterpret_cast<uv_handle_t*>(&p.timer), nullptr);
}
//! [/callbacks]

}  // namespace

int main(int argc, char** argv) try {
  program p;
  p.reading.spawn_on(p.scheduler, read(argc > 1 ? argv[1] : "", p.lines), "reader");
  p.ready.data = p.timer.data = &p;
  uv_poll_init(uv_default_loop(), &p.ready, p.scheduler.descriptor());
  uv_poll_start(&p.ready, UV_READABLE, on_ready);
  uv_timer_init(uv_default_loop(), &p.timer);
  uv_timer_start(&p.timer, on_tick, 1, 1);  // milliseconds
  uv_run(uv_default_loop(), UV_RUN_DEFAULT);
  leat::block_on(p.reading.join());
  std::printf("%zu lines\n", p.taken);
  return p.taken > 0 && p.taken == p.lines.statistics().pushed ? 0 : 1;
} catch (const std::exception& e) {
  std::fprintf(stderr, "embed_libuv: %s\n", e.what());
  return 1;
}
