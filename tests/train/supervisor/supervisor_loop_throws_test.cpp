// The loop that docs/supervisor.md shows, when its body throws.

#include "leat/train/supervisor/supervisor.hpp"

#include <stdexcept>
#include <string>

#include <catch2/catch.hpp>

#include "leat/async/loop/block_on.hpp"
#include "leat/pipeline/pipeline.hpp"
#include "pipeline/lines_pipeline.hpp"
#include "support/error_of.hpp"
#include "support/temp_dir.hpp"

namespace supervisor_loop_throws_test {

using leat::task;
using leat_test::error_of;

constexpr const char* own_error = "the loop's own error";

leat_test::texts one_file(const temp_dir& dir) {
  std::string text;
  for (int i = 0; i < 5000; ++i) text += std::to_string(i) + '\n';
  return {dir.write("a", text)};
}

TEST_CASE("supervisor: managed() throws the error of a loop with step()", "[train]") {
  const temp_dir dir;
  const leat_test::texts files = one_file(dir);
  const auto train = [&](bool pipeline_inside) -> task<> {
    auto outside = leat_test::lines_of({.files = files, .num_epochs = std::nullopt}).prefetch(2);
    leat::supervisor sv({.logdir = dir / "run"});
    const auto body = [&]() -> task<> {
      auto inside = leat_test::lines_of({.files = files, .num_epochs = std::nullopt}).prefetch(2);
      auto& batches = pipeline_inside ? inside : outside;
      int taken = 0;
      for (bool more = true; more;) {
        const auto here = co_await sv.step();
        auto batch = co_await batches.next();
        if (++taken == 10) throw std::runtime_error(own_error);
        more = batch.has_value();
      }
    };
    co_await sv.managed(body);
  };
  CHECK(error_of([&] { leat::block_on(train(false)); }) == own_error);
  CHECK(error_of([&] { leat::block_on(train(true)); }) == own_error);
}

}  // namespace supervisor_loop_throws_test
