// Runs each program with its n-th allocation failing, for every n until the program makes fewer
// than n allocations. Each run ends normally or with std::bad_alloc, and leaks nothing.

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <new>
#include <sstream>

#include <asio/any_io_executor.hpp>
#include <asio/io_context.hpp>

#include "faults/failing_allocations.hpp"
#include "leat/base/internal/frame_allocator.hpp"
#include "leat/base/internal/sanitizers.hpp"
#include "leat/coordination/coordinator.hpp"
#include "leat/coordination/looper.hpp"
#include "leat/coordination/queue_runner.hpp"
#include "leat/input/batcher.hpp"
#include "leat/input/input_producer.hpp"
#include "leat/input/queue_runner_def.hpp"
#include "leat/input/tensor_batcher.hpp"
#include "leat/io/file/match_files.hpp"
#include "leat/io/reader/line_reader.hpp"
#include "leat/pipeline/pipeline.hpp"
#include "leat/queue/completion_tokens.hpp"
#include "leat/queue/fifo_queue.hpp"
#include "leat/queue/padding_fifo_queue.hpp"
#include "leat/tensor/arrow.hpp"
#include "leat/tensor/dlpack.hpp"
#include "leat/tensor/stacking.hpp"
#include "support/leat_test.hpp"
#include "support/temp_dir.hpp"

namespace leat_test {

std::atomic<std::ptrdiff_t> until_failure{-1};
std::atomic<std::ptrdiff_t> failures{1};
std::atomic<std::ptrdiff_t> alive{0};
std::atomic<std::ptrdiff_t> made{0};
std::atomic<std::ptrdiff_t> alive_bytes{0};
std::atomic<std::ptrdiff_t> most_bytes{0};

}  // namespace leat_test

namespace counted_heap {

using leat_test::alive;
using leat_test::fail_each_allocation;
using leat_test::failures;
using leat_test::made;
using leat_test::until_failure;

bool fails() noexcept {
  ++made;
  const std::ptrdiff_t end = -failures.load();
  if (until_failure.load() <= end) return false;
  const std::ptrdiff_t left = until_failure.fetch_sub(1);
  return left <= 0 && left > end;
}

void* aligned(std::size_t alignment, std::size_t size) noexcept {
  void* p = nullptr;
  if (fails() || ::posix_memalign(&p, std::max(alignment, sizeof(void*)), size) != 0)
    return nullptr;
  return p;
}

// The requested size is stored directly before the returned memory, at the end of a prefix as large
// as the alignment. malloc may report a usable size above the requested one, and nothing uses that
// rest.
using header = std::ptrdiff_t;
constexpr std::size_t usual_alignment = 16;

void* allocate(std::size_t size, std::size_t alignment) {
  auto* const p = static_cast<std::byte*>(aligned(alignment, alignment + size));
  if (!p) throw std::bad_alloc();
  const auto asked = static_cast<header>(size);
  std::memcpy(p + alignment - sizeof asked, &asked, sizeof asked);
  ++alive;
  const header bytes = leat_test::alive_bytes += asked;
  header most = leat_test::most_bytes;
  while (bytes > most && !leat_test::most_bytes.compare_exchange_weak(most, bytes)) {
  }
  return p + alignment;
}
void release(void* memory, std::size_t alignment) noexcept {
  if (!memory) return;
  auto* const p = static_cast<std::byte*>(memory) - alignment;
  header asked = 0;
  std::memcpy(&asked, p + alignment - sizeof asked, sizeof asked);
  --alive;
  leat_test::alive_bytes -= asked;
  std::free(p);
}
std::size_t at_least_usual(std::align_val_t a) noexcept {
  return std::max(static_cast<std::size_t>(a), usual_alignment);
}

}  // namespace counted_heap

// Asio allocates its handlers with this function.
extern "C" void* aligned_alloc(std::size_t alignment, std::size_t size) noexcept {
  return counted_heap::aligned(alignment, size);
}

void* operator new(std::size_t size) {
  return counted_heap::allocate(size, counted_heap::usual_alignment);
}
void* operator new(std::size_t size, std::align_val_t a) {
  return counted_heap::allocate(size, counted_heap::at_least_usual(a));
}
void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
  try {
    return counted_heap::allocate(size, counted_heap::usual_alignment);
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}
void operator delete(void* p) noexcept { counted_heap::release(p, counted_heap::usual_alignment); }
void operator delete(void* p, const std::nothrow_t&) noexcept {
  counted_heap::release(p, counted_heap::usual_alignment);
}
void operator delete(void* p, std::size_t) noexcept {
  counted_heap::release(p, counted_heap::usual_alignment);
}
void operator delete(void* p, std::align_val_t a) noexcept {
  counted_heap::release(p, counted_heap::at_least_usual(a));
}
void operator delete(void* p, std::size_t, std::align_val_t a) noexcept {
  counted_heap::release(p, counted_heap::at_least_usual(a));
}

namespace allocation_test {

using namespace counted_heap;

leat::task<> run_elsewhere(leat::scheduler& s) {
  const auto wait = [] { return leat::this_task::yield(); };
  co_await leat::async_run(leat::get_executor(s), wait, leat::use_task);
  co_await leat::async_run(asio::any_io_executor(leat::get_executor(s)), wait, leat::use_task);
  leat::fifo_queue<int> q(1);
  if (q.try_push(1)) static_cast<void>(co_await q.async_pop(leat::use_task));
}

TEST_CASE("out of memory: completion tokens in a task", "[faults]") {
  fail_each_allocation([] {
    const leat::detail::frame_cache_bypass each_frame_allocates;
    leat::embedded_scheduler s;
    leat::task_group group;
    group.spawn_on(s, run_elsewhere(s));
    while (!s.idle()) s.run_ready();
    leat::block_on(group.join());
  });
}

TEST_CASE("allocation: a scheduler is woken without one", "[faults]") {
  struct count : leat::work_item {
    int runs = 0;
  } item;
  item.run_ = [](leat::work_item& i) noexcept { ++static_cast<count&>(i).runs; };
  asio::io_context io(1);
  leat::scheduler& s = leat::get_scheduler(io);
  const std::ptrdiff_t before = made;
  for (int i = 0; i < 3; ++i) {
    s.post(item);
    io.restart();
    io.poll();
  }
  CHECK(made == before);
  CHECK(item.runs == 3);
}

TEST_CASE("allocation: an embedded_scheduler runs, wakes and sets timers without one", "[faults]") {
  leat::embedded_scheduler s;
  leat::task_group group;
  int ticks = 0;
  group.spawn_on(s, [](int& n) -> task<> {
    for (; n < 30; ++n) co_await leat::sleep_for(std::chrono::microseconds(50));
  }(ticks));
  while (ticks < 10) s.run_ready();
  const std::ptrdiff_t before = made;
  while (!s.idle()) s.run_ready();
  CHECK(made == before);
  CHECK(ticks == 30);
}

task<> timer_program() {
  for (int i = 0; i < 3; ++i) co_await leat::sleep_for(std::chrono::microseconds(100));
}

TEST_CASE("allocation: a timer of the system", "[faults]") {
  fail_each_allocation([] { leat::block_on(timer_program()); });
}

task<> queue_program() {
  leat::fifo_queue<std::string> q(2, "a queue with a name that is not short");
  co_await leat::with_task_group([&q](leat::task_group& group) -> task<> {
    group.spawn([](leat::fifo_queue<std::string>& to) -> task<> {
      for (int i = 0; i < 5; ++i) co_await to.push("an item that is too long for a small string");
      to.close();
    }(q));
    while (const auto item = co_await q.pop()) {
    }
    co_return;
  });
}

TEST_CASE("allocation: a queue between two tasks", "[faults]") {
  fail_each_allocation([] { leat::block_on(queue_program()); });
}

// Runs three operations with close operations of their own: one fails, one is stopped and one ends.
task<> runner_program() {
  leat::fifo_queue<int> q(2, "a queue with a name that is not short");
  leat::queue_runner_options options;
  options.close_op.run = [&q]() -> task<> {
    q.close();
    co_return;
  };
  options.cancel_op.run = [&q]() -> task<> {
    q.close_and_cancel();
    co_return;
  };
  leat::queue_runner runner(q, options);
  int left = 3;
  runner.add([&q]() -> task<bool> { co_return co_await q.push(1); }, "for ever");
  runner.add([&left]() -> task<bool> { co_return --left > 0; }, "for a while");
  leat::task_group group("a group with a name that is not short");
  std::exception_ptr error;
  try {
    const leat::queue_runner_handle handle = runner.start(group);
    co_await handle.wait_for_first_enqueue();
    // At most 20 elements: if the second operation has failed, the first one continues
    // indefinitely.
    for (int i = 0; i < 20 && left > 0; ++i) {
      const auto item = co_await q.pop();
      if (!item) break;
    }
  } catch (...) {
    error = std::current_exception();
  }
  group.request_stop();
  co_await group.join();
  if (error) std::rethrow_exception(error);
  if (!q.is_closed() || runner.running_producers() != 0) std::abort();
}

TEST_CASE("allocation: a queue runner in a group", "[faults]") {
  fail_each_allocation([] { leat::block_on(runner_program()); });
}

task<> looper_program() {
  int calls = 0;
  bool stopped = false;
  leat::looper_options options;
  options.interval = std::chrono::microseconds(10);
  options.stop_loop = [&stopped]() -> task<> {
    stopped = true;
    co_return;
  };
  leat::task_group group;  // also throws errors after the stop
  group.spawn(leat::looper(
      [&]() -> task<> {
        if (++calls == 3) group.request_stop();
        co_return;
      },
      options));
  co_await group.join();
  if (!stopped || calls != 3) std::abort();
}

TEST_CASE("allocation: a looper", "[faults]") {
  fail_each_allocation([] { leat::block_on(looper_program()); });
}

task<> dump_program() {
  leat::fifo_queue<int> queue(4, "a queue with a name that is not short");
  co_await leat::with_task_group([&queue](leat::task_group& group) -> task<> {
    group.spawn([]() -> task<> { co_await leat::sleep_for(std::chrono::hours(1)); }(),
                "a task with a name that is not short");
    group.spawn([](leat::fifo_queue<int>& from) -> task<> { co_await from.pop(); }(queue),
                "another task with a name that is not short");
    co_await leat::this_task::yield();
    std::ostringstream out;
    leat::dump(out);
    group.request_stop();
  });
}

TEST_CASE("allocation: a dump without memory throws or is shorter", "[faults]") {
  fail_each_allocation([] { leat::block_on(dump_program()); });
}

TEST_CASE("allocation: a definition of a queue runner", "[faults]") {
  leat::queue_runner_def def;
  def.queue_name = "a queue with a name that is not short";
  for (int i = 0; i < 5; ++i) def.enqueue_op_names.push_back(def.queue_name + " " + "and more");
  def.queue_closed_errors = {leat::errc::out_of_range, leat::errc::cancelled};
  fail_each_allocation([&] {
    if (leat::queue_runner_def::from_bytes(def.to_bytes()) != def) std::abort();
    if (def.with_scope("scope").without_scope("scope") != def) std::abort();
  });
}

TEST_CASE("allocation: a batch of fixed shape needs one, and sharing an element needs none",
          "[faults]") {
  const leat::tensor row(leat::dtype::float32, {28, 28});
  const std::vector<leat::tensor> rows(1000, row);
  std::ptrdiff_t before = made;
  const leat::tensor batch = leat::stack(rows);
  CHECK(made - before == 1);
  CHECK(batch.shape() == leat::shape{1000, 28, 28});
  before = made;
  leat::tensor copy = batch;
  const leat::tensor moved = std::move(copy);
  CHECK(made == before);

  const leat::tensor text = leat::tensor::scalar("a string that does not fit into an empty one");
  const std::vector<leat::tensor> texts(1000, text);
  before = made;
  const leat::tensor column = leat::stack(texts);
  CHECK(made - before == 1);
}

leat::tensor_tuple element_of(std::int64_t count) {
  return leat::tensor_tuple(leat::tensor(leat::dtype::int32, {count}));
}

// If there is no memory for a batch, its elements return to the queue in their order.
task<> padding_program(bool tried) {
  leat::element_spec spec({{.type = leat::dtype::int32, .shape = {leat::unknown_dimension}}});
  leat::padding_fifo_queue q(spec, 4, "a queue with a name that is not short");
  for (std::int64_t i = 1; i <= 3; ++i) co_await q.push(element_of(i));
  std::exception_ptr error;
  try {
    if (tried) {
      static_cast<void>(q.try_pop_many(3));
    } else {
      static_cast<void>(co_await q.pop_many(3));
    }
  } catch (const std::bad_alloc&) {
    error = std::current_exception();
  }
  if (!error) co_return;
  CHECK_FALSE(q.failure_cause());
  for (std::int64_t i = 1; i <= 3; ++i) {
    const auto element = q.try_pop();
    CHECK((element && (*element)[0].shape()[0] == i));
  }
  std::rethrow_exception(error);
}

TEST_CASE("allocation: a queue with padding", "[faults]") {
  for (const bool tried : {false, true}) {
    fail_each_allocation([=] { leat::block_on(padding_program(tried)); });
  }
}

// If a batch cannot be made, its elements stay for the next attempt. A batch that is handed over
// leaves no memory allocated.
task<> batching_program() {
  leat::batch_spec spec({{.type = leat::dtype::int32, .shape = {}},
                         {.type = leat::dtype::boolean, .shape = {2}, .sparse = true}});
  leat::tensor_batcher b(spec, {.batch_size = 3, .name = "a name that is not short at all"});
  const leat::tensor expected = leat::tensor::of<int>({3}, {0, 1, 2});
  const leat::tensor two = leat::tensor::of<std::int64_t>({1}, {2});
  for (int i = 0; i < 3; ++i) {
    leat::tensor_tuple element(leat::tensor::scalar(i), leat::tensor(leat::dtype::int64, {1, 1}),
                               leat::tensor(leat::dtype::boolean, {1}), two);
    co_await b.push(element);
  }
  std::optional<leat::column_batch> batch;
  std::exception_ptr error;
  try {
    batch = co_await b.next();
  } catch (const std::bad_alloc&) {
    error = std::current_exception();
  }
  if (error) batch = co_await b.next();
  CHECK((batch && (*batch)[0] == expected));
  CHECK((batch && batch->sparse(1).values.count() == 3));
  if (error) std::rethrow_exception(error);
  const leat::tensor again = leat::from_dlpack(leat::to_dlpack((*batch)[0]));
  CHECK(again == (*batch)[0]);
  leat::arrow_schema schema;
  leat::arrow_array array;
  leat::to_arrow(*batch, schema, array);
  schema.release(&schema);
  array.release(&array);
}

TEST_CASE("allocation: a batch of tensors", "[faults]") {
  fail_each_allocation([] { leat::block_on(batching_program()); });
}

task<bool> read_next(leat::fifo_queue<std::string>& names,
                     leat::random_shuffle_queue<std::string>& samples) {
  const auto name = co_await names.pop();
  if (!name) co_return false;
  auto reader = co_await leat::line_reader::open(*name);
  leat::line_batch batch;
  while (co_await reader->read_batch(batch)) {
    std::vector<std::string> lines(batch.begin(), batch.end());
    co_await samples.push_many(lines);
  }
  co_return true;
}

// A small complete input pipeline: files, file names, a reader, a shuffle queue, batches and a
// coordinator.
task<> pipeline_program(std::string directory) {
  std::vector<std::string> pattern(1, directory + "/*.txt");
  auto paths = co_await leat::match_files(std::move(pattern));
  leat::coordinator coord("pipeline");
  leat::string_input_producer names(std::move(paths), {.num_epochs = 1, .seed = 1, .capacity = 2});
  leat::shuffle_batcher<std::string> batches(
      {.batch_size = 3, .capacity = 8, .min_after_dequeue = 2, .seed = 1});
  batches.add([&]() { return read_next(names.queue(), batches.queue()); }, "reader");
  std::exception_ptr error;
  try {
    names.start(coord);
    batches.start(coord);
    while (const auto batch = co_await batches.next()) {
    }
  } catch (...) {
    error = std::current_exception();
  }
  if (error) coord.request_stop(error);
  for (bool joined = false; !joined;) {
    try {
      co_await coord.join();
      joined = true;
    } catch (const std::bad_alloc&) {
      // join() throws either the error of a task or std::bad_alloc because it could not start.
      joined = coord.live_tasks() == 0;
      error = std::current_exception();
    }
  }
  if (error) std::rethrow_exception(error);
}

TEST_CASE("allocation: a pipeline", "[faults]") {
  const temp_dir dir;
  dir.write("a.txt", "one\ntwo\nthree\n");
  dir.write("b.txt", "four\nfive\n");
  fail_each_allocation([&] { leat::block_on(pipeline_program(dir / ".")); });
}

// A monitored pipeline has an additional stage while it runs. An element that this stage has read
// must remain available after a failure.
task<> watched_program(std::string pattern) {
  auto p = leat::read_files<leat::line_reader>({.files = {std::move(pattern)}},
                                               {.patience = std::chrono::hours(1)})
               .map("text", [](std::string_view line) { return std::string(line); });
  std::size_t lines = 0;
  std::exception_ptr error;
  try {
    co_await p.for_each([&](const std::string&) { ++lines; });
    CHECK(lines == 5);
  } catch (...) {
    error = std::current_exception();
  }
  if (!error) co_return;
  try {
    CHECK_FALSE(p.save().empty());
  } catch (const leat::failure&) {  // the operation had no memory
  }
  std::rethrow_exception(error);
}

TEST_CASE("allocation: a pipeline that is watched", "[faults]") {
  const temp_dir dir;
  dir.write("a.txt", "one\ntwo\nthree\n");
  dir.write("b.txt", "four\nfive\n");
  fail_each_allocation([&] { leat::block_on(watched_program(dir / "*.txt")); });
}

}  // namespace allocation_test
