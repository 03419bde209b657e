// A program for the headers and names before the layers, shortened from examples of that time.
// upgrade_names.py rewrites all of it; what comes out has to compile.

#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "leat/io/line_reader.hpp"
#include "leat/io/whole_files.hpp"
#include <leat/codec/csv_decoder.hpp>
#include <leat/codec/event.hpp>
#include <leat/core/batch_columns.hpp>
#include <leat/core/context.hpp>
#include <leat/core/random.hpp>
#include <leat/core/sync_wait.hpp>
#include <leat/core/task.hpp>
#include <leat/core/tensor.hpp>
#include <leat/pipeline/batcher.hpp>
#include <leat/pipeline/input_producer.hpp>
#include <leat/pipeline/pipeline.hpp>
#include <leat/pipeline/queue_fullness.hpp>
#include <leat/pipeline/queue_reader.hpp>
#include <leat/pipeline/stage_metrics.hpp>
#include <leat/pipeline/tensor_batcher.hpp>
#include <leat/sim/ledger.hpp>
#include <leat/sync/coordinator.hpp>
#include <leat/sync/fifo_queue.hpp>
#include <leat/sync/looper.hpp>
#include <leat/sync/partial_push.hpp>
#include <leat/sync/queue_runner.hpp>
#include <leat/sync/runner_collection.hpp>
#include <leat/train/event_reader.hpp>
#include <leat/train/supervisor.hpp>
#include <leat/train/supervisor_options.hpp>

namespace {

using leat::dtype;
using leat::tensor;
using lines = leat::queue_reader<leat::line_reader>;
const leat::csv_decoder decoder({leat::csv_column::required(dtype::string, "name"),
                                 leat::csv_column::required(dtype::int64, "age")});

// The people in the files that a queue names; without the children.
struct adults {
  std::unique_ptr<lines> reader;

  leat::task<std::optional<leat::maybe_element>> operator()() {
    const auto line = co_await reader->read();
    if (!line) co_return std::nullopt;
    try {
      leat::tensor_tuple person = decoder.decode_one(line->value);
      const bool wanted = person["age"].value<std::int64_t>() >= 18;
      co_return leat::maybe_element{std::move(person), wanted};
    } catch (const leat::decode_error& e) {
      throw e.at(leat::line_place(line->position()));
    }
  }
};

leat::task<std::int64_t> sum_of_ages(std::vector<std::string> paths) {
  leat::string_input_producer files(paths, {.num_epochs = 2, .seed = leat::seed_or_entropy({})});
  leat::tensor_shuffle_batch people(
      decoder.spec(),
      {.batch_size = 4, .capacity = 32, .min_after_dequeue = 8, .last = leat::remainder::keep});
  for (int i = 0; i < 2; ++i) people.add(adults{std::make_unique<lines>(files.queue())});
  std::int64_t sum = 0;
  co_await leat::with_coordinator([&](leat::coordinator& coord) -> leat::task<> {
    files.start(coord);
    people.start(coord);
    while (const auto batch = co_await people.next())
      for (const std::int64_t age : (*batch)["age"].values<std::int64_t>()) sum += age;
  });
  co_return sum;
}

std::size_t bytes_of(const leat::batch_columns& columns) {
  const tensor first = columns[0];
  return columns.size() + (first.shared() ? 0 : first.size());
}

leat::task<> learn(leat::fifo_queue<int>& numbers, leat::stage_metrics& learner) {
  leat::scheduler& home = co_await leat::this_task::get_scheduler();
  const leat::at_work here(learner, home);
  const leat::time_point begin = home.now();
  for (;;) {
    leat::waiting input(learner, home, leat::waiting::for_input);
    const auto number = co_await numbers.pop();
    if (!number) break;
  }
  {
    leat::waiting output(learner, home, leat::waiting::for_room);
  }
  const std::vector<const leat::stage_metrics*> stages = {&learner};
  std::puts(leat::verdict(stages, home.now() - begin).c_str());
}

leat::task<> run_steps(leat::fifo_queue<int>& numbers) {
  leat::looper_options every{.interval = std::chrono::seconds(1),
                             .missed = leat::missed_points::skip};
  every.missed = leat::missed_points::catch_up;
  leat::batch<int> batches({.batch_size = 2});
  leat::runner_collection runners;
  leat::supervisor_options options{.save_model = std::chrono::minutes(1)};
  options.save_summaries = std::chrono::minutes(2);
  leat::supervisor supervised({.save_model = std::chrono::minutes(1)});
  leat::random_engine random(1);
  int event = static_cast<int>(random.below(6));  // a word that is that of the program
  std::vector<int> many{event};
  try {
    co_await numbers.push_many(many);
  } catch (const leat::partial_push& e) {
    std::printf("%zu\n", e.count());
  }
}

auto declared(std::vector<std::string> files) {
  return leat::read_files<leat::line_reader>({.files = files, .interleave = 2, .block = 8})
      .batch({.batch_size = 32, .last = leat::remainder::drop});
}

std::int64_t step_of(const leat::event& e) { return e.step; }

void count(std::uint64_t id) {
  leat::sim::ledger book("batch_columns");  // a text stays as it is
  book.offers(0, id);
  book.gets(0, id);
  book.settle();
}

bool is_stopped(const leat::context& c) { return c.stop_requested() && &c.home() != nullptr; }

}  // namespace

int main() {
  leat::fifo_queue<int> numbers(8, std::string(leat::name(dtype::int64)));
  leat::stage_metrics learner("learner");
  leat::sync_wait(learn(numbers, learner));
  leat::sync_wait(run_steps(numbers));
  static_cast<void>(leat::sync_wait(sum_of_ages({})));
  static_cast<void>(&bytes_of);
  static_cast<void>(&declared);
  static_cast<void>(&step_of);
  static_cast<void>(&count);
  static_cast<void>(&is_stopped);
}
