// The metrics of the stages of a pipeline, including stages without tasks of their own.

#include <map>

#include "leat/io/reader/line_reader.hpp"
#include "leat/pipeline/metrics/prometheus_text.hpp"
#include "leat/pipeline/metrics/stage_fullness.hpp"
#include "leat/pipeline/pipeline.hpp"
#include "leat/queue/queue_fullness.hpp"
#include "support/leat_test.hpp"
#include "support/temp_dir.hpp"

namespace pipeline_metrics_test {

using leat::line_reader;
using leat::owned_line_batch;
using leat::stage_metrics;

// 100 lines of 3 bytes.
std::string write_lines(const temp_dir& dir) {
  std::string text;
  for (int i = 0; i < 100; ++i) text += "abc\n";
  return dir.write("a", text);
}

std::map<std::string, const stage_metrics*> by_name(const std::vector<const stage_metrics*>& all) {
  std::map<std::string, const stage_metrics*> named;
  for (const stage_metrics* s : all) named.emplace(s->name(), s);
  return named;
}

std::size_t length(const owned_line_batch& rows) { return rows.bytes(); }

TEST_CASE("pipeline: a stage counts the bytes of elements of known size", "[pipeline]") {
  const temp_dir dir;
  const std::string path = write_lines(dir);
  const auto check = [&]() -> task<> {
    auto p = leat::read_files<line_reader>({.files = {path}})
                 .shuffle({.capacity = 10, .seed = 1})
                 .batch({.batch_size = 8})
                 .map("pass", [](owned_line_batch rows) { return rows; }, {.workers = 2})
                 .prefetch(2)
                 .map("length", length);
    while (true) {
      const auto one = co_await p.next();
      if (!one) break;
    }
    const auto all = by_name(p.stages());
    for (const char* const name : {"files", "shuffle", "batch", "pass", "prefetch"}) {
      INFO(name);
      CHECK(all.at(name)->knows_bytes());
      CHECK(all.at(name)->bytes() == 300);
      CHECK(all.at(name)->held() == 0);
    }
    CHECK_FALSE(all.at("length")->knows_bytes());
    CHECK_FALSE(all.at("consumer")->knows_bytes());
    const std::string text = leat::prometheus_text(p.stages(), {});
    CHECK(contains(text, "leat_stage_bytes_total{stage=\"batch\"} 300\n"));
    CHECK_FALSE(contains(text, "leat_stage_bytes_total{stage=\"length\"}"));
    // Stages that run in the task of the next stage never wait for free capacity.
    CHECK(contains(text, "leat_stage_room_wait_seconds_total{stage=\"prefetch\"}"));
    CHECK(contains(text, "leat_stage_room_wait_seconds_total{stage=\"pass\"}"));
    for (const char* const name : {"files", "shuffle", "batch", "length", "consumer"}) {
      CHECK_FALSE(contains(text, "room_wait_seconds_total{stage=\"" + std::string(name) + "\"}"));
    }
  };
  leat::block_on(check());
}

TEST_CASE("pipeline: stages that hold elements report their fill level", "[pipeline]") {
  const temp_dir dir;
  const std::string path = write_lines(dir);
  const auto check = [&]() -> task<> {
    auto p = leat::read_files<line_reader>({.files = {path}})
                 .shuffle({.capacity = 20, .seed = 1})
                 .batch({.batch_size = 8})
                 .prefetch(4);
    const auto first = co_await p.next();
    CHECK(first->size() == 8);
    const auto all = by_name(p.stages());
    // The earlier stages continue until their queues are full.
    while (all.at("prefetch")->held() < 4) co_await leat::this_task::yield();
    CHECK(stage_fullness(*all.at("prefetch")) ==
          leat::fullness{"prefetch/fraction_of_4_full", 1.0F});
    CHECK(stage_fullness(*all.at("shuffle")) ==
          leat::fullness{"shuffle/fraction_of_20_full", 1.0F});
    CHECK_FALSE(stage_fullness(*all.at("files")).has_value());
    CHECK_FALSE(stage_fullness(*all.at("batch")).has_value());
    co_await p.stop();
    CHECK(all.at("prefetch")->held() == 0);
  };
  leat::block_on(check());
}

}  // namespace pipeline_metrics_test
