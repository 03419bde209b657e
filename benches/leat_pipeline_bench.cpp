// leat's pipeline: Examples of 1 KiB, verified, shuffled in a buffer of 10,000, parsed into
// columns in batches of 128; ns an Example.
//
// pipeline/1-core                 all on one thread
// pipeline/2-cores                read and verified on another
// pipeline/1-core/parse-first     elements are parsed before the buffer, as the peer does it: the
//                                 buffer has values of a type of the program's
// pipeline/2-cores/parse-first    read, verified and parsed on another

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
  // A second processor reads and verifies, and parses what is to be parsed first. The rest stays
  // together: a batch is parsed where it was put together, so that it is in a cache.
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
    return leat::sync_wait(consume(batches));
  };
  const auto parsed_first = [&](auto source) {
    auto batches = std::move(source)
                       .shuffle({.capacity = bench::shuffle_capacity, .seed = 1})
                       .batch({.batch_size = bench::batch_size})
                       .map("columns", columns_of);
    return leat::sync_wait(consume(batches));
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
