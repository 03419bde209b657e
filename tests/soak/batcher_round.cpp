// Readers, a producer of names and a batcher, created separately under a coordinator.

#include <memory>
#include <optional>
#include <stdexcept>
#include <vector>

#include "leat/async.hpp"
#include "leat/input/batcher.hpp"
#include "leat/input/input_producer.hpp"
#include "leat/io.hpp"
#include "soak/world.hpp"
#include "support/records/error_texts.hpp"

namespace soak {
namespace {

using namespace std::chrono_literals;
using leat::errc;
using leat::task;

// ------------------------------------------------------------------------------ lines and records

template <class Queue>
task<bool> push_all(world& w, Queue& queue, std::vector<std::string>& texts) {
  const std::vector<std::string> copies = texts;
  std::size_t in = 0;
  std::exception_ptr error;
  try {
    in = co_await queue.push_many(texts);
  } catch (const leat::partial_push_error& e) {
    in = e.count();
    error = std::current_exception();
  }
  for (std::size_t i = 0; i < in; ++i) {
    w.require(w.records.put(copies[i]), "invalid record pushed: " + copies[i]);
  }
  if (error) std::rethrow_exception(error);
  co_return in == texts.size();
}

template <class Reader, class Batch, class Queue>
task<bool> push_file(world& w, std::unique_ptr<Reader> reader, Batch batch, Queue& queue) {
  while (co_await reader->read_batch(batch)) {
    std::vector<std::string> texts;
    for (const auto record : batch) {
      if constexpr (std::is_same_v<Batch, leat::line_batch>) {
        texts.emplace_back(record);
      } else {
        texts.emplace_back(leat::as_text(record));
      }
    }
    const bool all = co_await push_all(w, queue, texts);
    if (!all) co_return false;
  }
  co_return true;
}

const input_file& file_of(world& w, const std::string& path) {
  for (const input_file& f : w.files) {
    if (f.path == path) return f;
  }
  throw std::logic_error("unknown file: " + path);
}

// Handles an error of a file: its corruption, which is reported with its position, or an injected
// error. Returns true to continue with the next file.
bool tolerated(world& w, const input_file& f, const leat::failure& e) {
  const std::string message = e.what();
  if (e.code() == errc::cancelled) return false;
  const bool injected = w.broken.explain(message);
  if (!injected && (e.code() == errc::data_loss || e.code() == errc::resource_exhausted)) {
    ++w.damaged;
    w.require(f.good < f.count, "corruption in an intact file: " + message);
    w.require(message.starts_with(f.path) && message.find("offset ") != std::string::npos,
              "corruption without file and offset: " + message);
    return true;
  }
  w.require(injected, "error that was not injected: " + message);
  w.incomplete = true;
  return w.skips_errors;
}

template <class Queue>
task<bool> read_next(world& w, leat::fifo_queue<std::string>& names, Queue& queue,
                     leat::read_options options) {
  const std::optional<std::string> name = co_await names.pop();
  if (!name) co_return false;
  const input_file& f = file_of(w, *name);
  try {
    if (f.what == input_file::kind::lines) {
      auto reader = co_await leat::line_reader::open(
          *name, {.max_line_size = max_line_size, .read = options});
      const bool all = co_await push_file(w, std::move(reader), leat::line_batch(), queue);
      co_return all;
    }
    auto reader = co_await leat::tfrecord_reader::open(*name, {.read = options});
    const bool all = co_await push_file(w, std::move(reader), leat::record_batch(), queue);
    co_return all;
  } catch (const leat::partial_push_error&) {
    throw;
  } catch (const leat::failure& e) {
    if (!tolerated(w, f, e)) throw;
  }
  co_return true;
}

// ----------------------------------------------------------------------------------- the pipeline

template <class Batcher>
task<> consume(world& w, Batcher& batches) {
  while (const auto batch = co_await batches.next()) {
    for (const std::string& text : *batch) {
      w.require(w.records.got(text), "invalid record received: " + text);
    }
  }
}

template <class Batcher>
void consume_on_thread(world& w, Batcher& batches) {
  while (const auto batch = leat::block_on(batches.next())) {
    for (const std::string& text : *batch) {
      w.require(w.records.got(text), "invalid record received: " + text);
    }
  }
}

task<> stop_after(world& w, leat::coordinator& coord, leat::duration d) {
  co_await leat::sleep_for(d);
  w.incomplete = true;
  coord.request_stop();
}

task<> tick(leat::duration d) {
  for (;;) co_await leat::sleep_for(d);
}

template <class Batcher>
task<> run_pipeline(world& w, Batcher& batches, std::uint64_t epochs) {
  auto paths = co_await leat::match_files(std::vector<std::string>(1, w.directory + "/*.in"));
  w.require(paths.size() == w.files.size(), "files are missing");
  leat::coordinator coord("soak");
  leat::string_input_producer names(
      std::move(paths), {.num_epochs = epochs,
                         .seed = w.random(),
                         .capacity = static_cast<std::size_t>(1 + w.random.uniform_below(4))});
  const leat::read_options options{
      .chunk_size = static_cast<std::size_t>(
          1 + w.random.uniform_below(w.random.uniform_below(2) == 0 ? 300 : 40'000)),
      .depth = static_cast<std::size_t>(1 + w.random.uniform_below(6))};
  for (std::uint64_t i = 0, readers = 1 + w.random.uniform_below(4); i < readers; ++i) {
    batches.add([&w, &names, &batches,
                 options] { return read_next(w, names.queue(), batches.queue(), options); },
                "reader " + std::to_string(i), &w.any_scheduler());
  }
  leat::task_group ticking("ticking");
  for (std::uint64_t i = 0, n = w.random.uniform_below(20); i < n; ++i) {
    ticking.spawn_on(w.any_scheduler(), tick(10us * (1 + w.random.uniform_below(300))), "ticker");
  }
  names.start(coord, w.any_scheduler());
  batches.start(coord, w.any_scheduler());
  if (w.random.uniform_below(3) == 0) {
    coord.spawn_on(w.any_scheduler(), stop_after(w, coord, 10us * w.random.uniform_below(1500)),
                   "stopper");
  }
  if (w.random.uniform_below(3) == 0) {
    coord.start_thread("consumer", [&](const std::stop_token&) { consume_on_thread(w, batches); });
  } else {
    coord.spawn_on(w.any_scheduler(), consume(w, batches), "consumer");
  }
  try {
    co_await coord.join({.grace = 60s});
  } catch (const leat::failure& e) {
    w.incomplete = true;
    w.require(w.broken.explain(e.what()), std::string("the round ended with: ") + e.what());
  }
  for (const std::string& text : leat_test::error_texts(coord.secondary_errors())) {
    w.require(w.broken.explain(text), "unexpected error: " + text);
  }
  ticking.request_stop();
  co_await ticking.join();
  while (const auto text = batches.queue().try_pop()) {  // elements that a stop left in the queue
    w.require(w.records.got(*text), "invalid record remained: " + *text);
  }
}

}  // namespace

task<> run_batchers(world& w, std::uint64_t epochs) {
  const auto batch_size = static_cast<std::size_t>(1 + w.random.uniform_below(50));
  const auto capacity = static_cast<std::size_t>(2 + w.random.uniform_below(100));
  const auto remainder =
      w.random.uniform_below(2) == 0 ? leat::batch_remainder::keep : leat::batch_remainder::drop;
  if (w.random.uniform_below(2) == 0) {
    leat::batcher<std::string> batches(
        {.batch_size = batch_size, .capacity = capacity, .remainder = remainder});
    co_await run_pipeline(w, batches, epochs);
  } else {
    leat::shuffle_batcher<std::string> batches(
        {.batch_size = batch_size,
         .capacity = capacity,
         .min_after_dequeue = static_cast<std::size_t>(w.random.uniform_below(capacity)),
         .seed = w.random(),
         .remainder = remainder});
    co_await run_pipeline(w, batches, epochs);
  }
}

}  // namespace soak
