/// Learns to distinguish single lines of C from lines of C++, from the headers that every build
/// machine has.
///
/// match_files finds the files, and a producer pushes them into a queue, in a new random order in
/// each epoch. Several readers pop files from it, read them through io_uring, convert their lines
/// to samples and push the samples into a shuffle queue. The consumer pops batches from it and
/// makes one step of logistic regression with each batch. One coordinator stops all tasks at the
/// end, on an error or on Ctrl-C.

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <memory>
#include <string>

#include <asio/io_context.hpp>
#include <asio/signal_set.hpp>
#include <leat/leat.hpp>
#include <leat/tensorflow.hpp>
#include <unistd.h>

#include "features.hpp"
#include "input.hpp"
#include "model.hpp"
#include "options.hpp"
#include "report.hpp"

namespace {

using namespace std::chrono_literals;

// The state that the tasks of the training share.
struct training {
  explicit training(const options& o, sources found)
      : files(std::move(found.training),
              {.num_epochs = o.epochs, .seed = o.seed, .capacity = 64, .name = "files"}),
        batches({.batch_size = o.batch_size,
                 .capacity = 20'000,
                 .min_after_dequeue = 10'000,
                 .seed = o.seed,
                 .name = "samples"}),
        skip_bad_files(o.skip_bad_files) {}

  leat::input_producer<source> files;
  leat::shuffle_batcher<sample> batches;
  leat::stage_metrics readers{"readers"};
  leat::stage_metrics consumer{"consumer"};
  const bool skip_bad_files;
  std::uint64_t skipped_files = 0;
};

// Pushes the samples of one file into the shuffle queue.
leat::task<void> read_file(training& t, const source& s) {
  leat::scheduler& sched = leat::this_task::get_scheduler();
  auto reader = co_await source_reader::open(s);
  std::uint64_t bytes = 0;
  for (;;) {
    std::vector<sample> samples = co_await reader->next();  // includes the wait for the device
    if (samples.empty()) co_return;
    t.readers.add(samples.size(), reader->bytes_read() - bytes);
    bytes = reader->bytes_read();
    leat::stage_wait_timer room(t.readers, sched, leat::stage_wait_timer::for_output);
    const std::size_t added = co_await t.batches.queue().push_many(samples);
    room.stop();
    if (added < samples.size()) co_return;  // the queue was closed
  }
}

// One step of a reader: reads the next file. Returns false if no file is left.
leat::task<bool> read_next_file(training& t) {
  leat::scheduler& sched = leat::this_task::get_scheduler();
  const leat::stage_work_timer here(t.readers, sched);
  leat::stage_wait_timer input(t.readers, sched, leat::stage_wait_timer::for_input);
  const std::optional<source> next = co_await t.files.queue().pop();
  input.stop();
  if (!next) co_return false;
  std::string why;
  try {
    co_await read_file(t, *next);
  } catch (const leat::failure& e) {
    if (!t.skip_bad_files || e.code() == leat::errc::cancelled) throw;
    why = e.what();
  }
  if (!why.empty()) {
    ++t.skipped_files;
    std::fprintf(stderr, "learn_cpp: skipped: %s\n", why.c_str());
  }
  co_return true;
}

// Trains the model with each batch until no batch is left.
leat::task<void> consume(training& t, model& m) {
  leat::scheduler& sched = leat::this_task::get_scheduler();
  const leat::stage_work_timer here(t.consumer, sched);
  const leat::time_point begin = sched.now();
  leat::time_point next_line = begin + 200ms;
  progress now;
  t.consumer.add_task();
  for (;;) {
    leat::stage_wait_timer input(t.consumer, sched, leat::stage_wait_timer::for_input);
    const auto batch = co_await t.batches.next();
    input.stop();
    if (!batch) break;
    std::size_t right = 0;
    for (const sample& s : *batch) {
      if ((m.predict(s) > 0.5) == s.is_cpp) ++right;
    }
    const double loss = m.train(*batch);
    now.loss += 0.02 * (loss - now.loss);
    now.accuracy +=
        0.02 * (static_cast<double>(right) / static_cast<double>(batch->size()) - now.accuracy);
    t.consumer.add(batch->size(), batch->size() * sizeof(sample));
    if (sched.now() >= next_line) {
      next_line = sched.now() + 200ms;
      now.seconds = std::chrono::duration<double>(sched.now() - begin).count();
      print_progress(now, t.readers, t.files.queue().statistics(), t.batches.queue().statistics());
    }
  }
}

// Tests the model with the held-out files.
leat::task<void> evaluate(const model& m, const std::vector<source>& files, bool skip_bad_files) {
  std::size_t skipped = 0;
  std::uint64_t right = 0;
  std::uint64_t of_cpp = 0;
  std::uint64_t all = 0;
  for (const source& s : files) {
    try {
      auto reader = co_await source_reader::open(s);
      for (;;) {
        const std::vector<sample> samples = co_await reader->next();
        if (samples.empty()) break;
        for (const sample& x : samples) {
          if ((m.predict(x) > 0.5) == x.is_cpp) ++right;
          if (x.is_cpp) ++of_cpp;
        }
        all += samples.size();
      }
    } catch (const leat::failure& e) {
      if (!skip_bad_files) throw;
      ++skipped;
      std::fprintf(stderr, "learn_cpp: skipped: %s\n", e.what());
    }
  }
  if (all == 0) {
    std::puts("No lines are held out to test the model.");
    co_return;
  }
  const auto share = [all](std::uint64_t n) {
    return static_cast<double>(n) / static_cast<double>(all);
  };
  std::printf("Held out: %llu lines of %zu files, accuracy %.4f, majority class %.4f\n",
              static_cast<unsigned long long>(all), files.size() - skipped, share(right),
              std::max(share(of_cpp), 1 - share(of_cpp)));
}

// Stops the coordinator on the first SIGINT or SIGTERM. A second one ends the process.
leat::task<void> watch_for_interrupt(leat::coordinator& coord, asio::io_context& io,
                                     bool& interrupted) {
  auto signals = std::make_shared<asio::signal_set>(io, SIGINT, SIGTERM);
  auto over = std::make_shared<bool>(false);  // true once `coord` may be destroyed
  signals->async_wait([&coord, &interrupted, signals, over](const std::error_code& ec, int) {
    if (ec || *over) return;
    std::fputs("\nlearn_cpp: stopping; interrupt again to exit immediately\n", stderr);
    std::signal(SIGINT, SIG_DFL);
    std::signal(SIGTERM, SIG_DFL);
    interrupted = true;
    coord.request_stop();
  });
  // Runs on every path: io_context::run() does not return while the signal set waits.
  struct release {
    asio::signal_set& signals;
    bool& over;
    ~release() {
      over = true;
      std::error_code ignored;
      signals.cancel(ignored);
    }
  } const at_end{*signals, *over};
  co_await coord.wait_for_stop();
}

// Runs all tasks of the training. Returns true if a signal interrupted it.
leat::task<bool> train(training& t, model& m, leat::scheduler& reading) {
  bool interrupted = false;
  asio::io_context& io = *leat::get_io_context(leat::this_task::get_scheduler());
  const leat::coordinator_options options{.name = "training"};
  const leat::join_options joining{.grace = 1s};
  co_await leat::with_coordinator(
      [&](leat::coordinator& coord) -> leat::task<void> {
        t.files.start(coord, reading);
        t.batches.start(coord, reading);
        coord.spawn(watch_for_interrupt(coord, io, interrupted), "interrupt");
        co_await consume(t, m);
        coord.request_stop();
      },
      options, joining);
  co_return interrupted;
}

leat::task<int> learn(const options& o, leat::runtime& rt) {
  sources found = co_await find_sources(o);
  const std::vector<source> held_out = std::move(found.held_out);
  std::printf("%zu files for training, %zu held out\n", found.training.size(), held_out.size());
  training t(o, std::move(found));
  model m;
  for (std::size_t i = 0; i < o.readers; ++i) {
    t.batches.add([&t] { return read_next_file(t); }, "reader " + std::to_string(i));
    t.readers.add_task();
  }
  leat::scheduler& sched = leat::this_task::get_scheduler();
  const leat::time_point begin = sched.now();
  bool interrupted = false;
  std::exception_ptr error;
  try {
    interrupted = co_await train(t, m, rt.get_scheduler(rt.size() - 1));
  } catch (...) {
    error = std::current_exception();
  }
  end_progress();
  const leat::stage_metrics* const stages[] = {&t.readers, &t.consumer};
  print_summary(stages, sched.now() - begin);
  if (t.skipped_files > 0) {
    std::printf("Unreadable files were skipped %llu times.\n",
                static_cast<unsigned long long>(t.skipped_files));
  }
  if (error) std::rethrow_exception(error);
  if (interrupted) co_return 130;
  co_await evaluate(m, held_out, o.skip_bad_files);
  co_return 0;
}

leat::task<int> run(const options& o, leat::runtime& rt) {
  if (!o.write_shards.empty()) {
    co_await write_shards(o);
    co_return 0;
  }
  co_return co_await learn(o, rt);
}

}  // namespace

int main(int argc, char** argv) {
  const options o = parse_options(argc, argv);
  try {
    leat::runtime rt({.threads = 2});
    const int status = rt.block_on(run(o, rt));
    if (std::fflush(stdout) == 0 && !std::ferror(stdout)) return status;
    std::perror("learn_cpp: standard output");
    return 1;
  } catch (const std::exception& e) {
    std::fprintf(stderr, "learn_cpp: %s\n", e.what());
    return 1;
  }
}
