/// Builds a pipeline from data that the program receives, here from its command line, runs a part
/// of it, and resumes it from the saved state, as another process could.
///
///     planned_pipeline csv 'data/*.csv' 32

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <leat/async.hpp>
#include <leat/pipeline.hpp>

namespace {

//! [plan]
leat::pipeline_plan make_plan(std::string_view format, std::string pattern, std::size_t size) {
  leat::pipeline_plan plan;
  plan.source = leat::make_plan_source(format);
  leat::files_of(plan.source) = {std::move(pattern)};
  plan.stages = {leat::shuffle_stage_options{.capacity = 100, .seed = 1},
                 leat::batch_stage_options{.batch_size = size}};
  return plan;
}

// Reads up to `most` batches. Returns the state from which the next call resumes.
leat::task<std::string> run_part(leat::pipeline_plan plan, std::optional<std::string> state,
                                 std::size_t most) {
  leat::planned_pipeline batches = leat::build_pipeline(plan);
  if (state) co_await batches.restore(std::move(*state));
  std::size_t count = 0;
  std::size_t records = 0;
  while (count < most) {
    const std::optional<leat::planned_batch> batch = co_await batches.next();
    if (!batch) break;
    ++count;
    records += batch->size();
  }
  std::string saved = batches.save();
  co_await batches.stop();
  std::printf("%zu batches of %zu records\n", count, records);
  co_return saved;
}
//! [/plan]

leat::task<> run(std::string format, std::string pattern, std::string size) {
  const leat::pipeline_plan plan = make_plan(format, std::move(pattern), std::stoul(size));
  std::string state = co_await run_part(plan, std::nullopt, 3);
  co_await run_part(plan, std::move(state), SIZE_MAX);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) {
    std::fputs("usage: planned_pipeline FORMAT PATTERN BATCH_SIZE\n", stderr);
    return 2;
  }
  return leat::run(run(argv[1], argv[2], argv[3]));
}
