/// Feeds a pipeline with filenames, which are looked up before the first epoch, and with rows of
/// arrays in memory. At the end it prints the bottleneck and the fullness of the queue.

#include <cstdint>
#include <cstdio>
#include <string>

#include <leat/leat.hpp>
#include <leat/tensorflow.hpp>

namespace {

//! [names]
leat::task<std::size_t> count_lines(std::string pattern, std::int64_t epochs) {
  const leat::match_filenames_once files(std::move(pattern), {.regular_only = true});
  leat::string_input_producer names(files, {.num_epochs = epochs, .seed = 17});  // looks them up
  std::size_t count = 0;
  co_await leat::with_coordinator([&](leat::coordinator& coord) -> leat::task<> {
    names.start(coord);
    leat::filename_queue_reader<leat::line_reader> reader(names.queue());
    while (co_await reader.read()) ++count;  // ends after the last epoch
  });
  co_return count;
}
//! [/names]

leat::tensor_tuple samples() {
  //! [columns]
  return leat::tensor_tuple::named(
      {{"point", leat::tensor::of<float>({4, 2}, {0, 0, 0, 1, 1, 0, 1, 1})},
       {"label", leat::tensor::of<std::uint8_t>({4}, {0, 1, 1, 0})}});
  //! [/columns]
}

//! [learn]
leat::task<std::uint64_t> learn(leat::slice_input_producer& rows, leat::stage_metrics& learner) {
  leat::scheduler& sched = leat::this_task::get_scheduler();
  const leat::stage_work_timer here(learner, sched);
  std::uint64_t labels = 0;
  for (;;) {
    leat::stage_wait_timer input(learner, sched, leat::stage_wait_timer::for_input);
    const auto row = co_await rows.queue().pop();
    input.stop();
    if (!row) co_return labels;
    labels += (*row)["label"].value<std::uint8_t>();
    learner.add(1, row->byte_size());
  }
}
//! [/learn]

leat::task<bool> learn_from_memory() {
  leat::scheduler& sched = leat::this_task::get_scheduler();
  const leat::time_point begin = sched.now();
  //! [slices]
  leat::slice_input_producer rows(samples(), {.num_epochs = 1000, .seed = 17, .name = "rows"});
  //! [/slices]
  leat::stage_metrics learner("learner");
  learner.add_task();
  std::uint64_t labels = 0;
  co_await leat::with_coordinator([&](leat::coordinator& coord) -> leat::task<> {
    rows.start(coord);
    labels = co_await learn(rows, learner);
  });
  //! [metrics]
  const leat::stage_metrics* const stages[] = {&learner};
  const leat::queue_base* const queues[] = {&rows.queue()};
  std::puts(leat::describe_bottleneck(stages, sched.now() - begin).c_str());
  std::printf("%s: %g\n", rows.fullness().tag.c_str(), static_cast<double>(rows.fullness().value));
  std::fputs(leat::prometheus_text(stages, queues, sched.now()).c_str(), stdout);
  //! [/metrics]
  co_return learner.records() == 4000 && labels == 2000;
}

leat::task<int> run(std::string pattern) {
  const std::size_t once = co_await count_lines(pattern, 1);
  const std::size_t twice = co_await count_lines(pattern, 2);
  std::printf("%zu lines in two epochs\n", twice);
  const bool learnt = co_await learn_from_memory();
  const bool all = twice == 2 * once && learnt;
  co_return all ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  return leat::run(run(argc > 1 ? argv[1] : "/usr/include/std*.h"));
}
