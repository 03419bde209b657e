// leat's pipeline reads and verifies Examples of 1 KiB, shuffles them in a buffer of 10,000, and
// parses batches of 128 to columns. The unit is ns per Example.
//
// pipeline/1-core               everything on one thread
// pipeline/2-cores              reads and verifies on a second thread
// pipeline/1-core/parse-first   parses each element before the buffer, as the peer does; the buffer
//                               contains structs
// pipeline/2-cores/parse-first  reads, verifies and parses on a second thread

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include <leat/leat.hpp>

#include "support/bench.hpp"
#include "support/page_cache.hpp"
#include "support/training_element.hpp"
#include "support/training_example.hpp"

namespace {

using leat::dtype;
using leat::fixed_len_feature;

leat::tensor_tuple parse(const leat::example_parser& parser,
                         const leat::owned_record_batch& batch) {
  return parser.parse(batch.views()).take();
}

std::span<const std::int64_t> labels_of(const leat::tensor_tuple& columns) {
  return columns["label"].values<std::int64_t>();
}

struct columns {
  std::vector<std::int64_t> labels;
  std::vector<float> features;
  std::vector<char> images;
};

columns columns_of(const std::vector<bench::training_element>& elements) {
  columns c;
  c.labels.reserve(elements.size());
  c.features.reserve(elements.size() * bench::training_example::features);
  c.images.reserve(elements.size() * bench::training_example::image_size);
  for (const bench::training_element& e : elements) {
    c.labels.push_back(e.label);
    c.features.insert(c.features.end(), e.features.begin(), e.features.end());
    c.images.insert(c.images.end(), e.image.begin(), e.image.end());
  }
  return c;
}

std::span<const std::int64_t> labels_of(const columns& c) { return c.labels; }

template <class Pipeline>
leat::task<std::size_t> consume(Pipeline& batches) {
  std::size_t examples = 0;
  double sum = 0;
  while (const auto batch = co_await batches.next()) {
    const auto labels = labels_of(*batch);
    for (const std::int64_t value : labels) sum += static_cast<double>(value);
    examples += labels.size();
  }
  co_return sum < 0 ? 0 : examples;
}

std::size_t run(const bench::request& r) {
  const leat::example_parser parser(
      {{"features",
        fixed_len_feature{.type = dtype::float32, .shape = {bench::training_example::features}}},
       {"image", fixed_len_feature{.type = dtype::string}},
       {"label", fixed_len_feature{.type = dtype::int64}}});
  const auto fields = bench::training_fields();
  // The second core reads and verifies. With parse-first, it also parses. The thread that assembles
  // a batch also parses it, while the batch is in the CPU cache.
  std::optional<leat::runtime> rt;
  if (bench::cores_of(r) == 2) rt.emplace(leat::runtime_options{.threads = 1});
  auto records = leat::read_files<leat::tfrecord_reader>(
      {.files = bench::files_at(r.file), .interleave = 2},
      {.workers = rt ? leat::schedulers_of(*rt) : std::vector<leat::scheduler*>{}});
  const auto batched = [&](auto source) {
    auto batches = std::move(source)
                       .shuffle({.capacity = bench::shuffle_capacity, .seed = 1})
                       .batch({.batch_size = bench::batch_size})
                       .map("parse", [&parser](const leat::owned_record_batch& batch) {
                         return parse(parser, batch);
                       });
    return leat::block_on(consume(batches));
  };
  const auto parsed_first = [&](auto source) {
    auto batches = std::move(source)
                       .shuffle({.capacity = bench::shuffle_capacity, .seed = 1})
                       .batch({.batch_size = bench::batch_size})
                       .map("columns", columns_of);
    return leat::block_on(consume(batches));
  };
  const leat::prefetch_stage_options ahead{.blocks = 16, .on_worker = true};
  if (r.workload.ends_with("/parse-first")) {
    auto elements = std::move(records).map(
        "parse", [&fields](leat::byte_view record) { return fields.parse(record); });
    if (!rt) return parsed_first(std::move(elements));
    return parsed_first(std::move(elements).prefetch(ahead));
  }
  if (!rt) return batched(std::move(records));
  return batched(std::move(records).prefetch(ahead));
}

}  // namespace

int main(int argc, char** argv) {
  const bench::request r = bench::parse(argc, argv);
  bench::use_cores(r);
  run(r);
  const bench::stopwatch watch;
  const std::size_t examples = run(r);
  return bench::report(r, "leat", watch.seconds() * 1e9 / static_cast<double>(examples),
                       "ns/Example");
}
