// Sources of elements filter and expand, fail or are stopped, in one task or several, on other
// threads. Several consumers pop batches of columns. Every accepted element arrives complete and
// once, or is counted as dropped. The error of a source reaches the consumers.

#include <set>

#include "leat/coordination/coordinator.hpp"
#include "leat/input/tensor_batcher.hpp"
#include "simulation/steps.hpp"
#include "support/records/error_texts.hpp"

namespace simulation {
namespace {

using namespace std::chrono_literals;
using leat::dtype;
using leat::task;
using leat::tensor;
using leat::tensor_tuple;
using leat::sim::world;

// A number, its text, and weights_of(number) sparse values.
leat::batch_spec spec() {
  return leat::batch_spec(
      {{.type = dtype::int64, .shape = {}},
       {.type = dtype::string, .shape = {}},
       {.type = dtype::int64, .shape = {leat::unknown_dimension}, .sparse = true}});
}

std::int64_t weights_of(std::int64_t id) { return id % 10 % 3; }

tensor_tuple element_of(std::int64_t id) {
  const std::int64_t count = weights_of(id);
  tensor at(dtype::int64, {count, 1});
  tensor values(dtype::int64, {count});
  for (std::int64_t i = 0; i < count; ++i) {
    at.mutable_values<std::int64_t>()[static_cast<std::size_t>(i)] = i;
    values.mutable_values<std::int64_t>()[static_cast<std::size_t>(i)] = id;
  }
  return tensor_tuple(tensor::scalar(id), tensor::scalar(std::to_string(id)), at, values,
                      tensor::of<std::int64_t>({1}, {count}));
}

// The state that all sources of a run share.
struct account {
  world& w;
  std::set<std::int64_t> given;  // accepted elements
  bool failed = false;
};

// Returns the numbers from `next` to before `end`, each after a delay, in batches if it expands.
struct numbers {
  account& all;
  std::int64_t next;
  std::int64_t end;
  bool expands;
  bool fails;

  task<std::optional<leat::filtered_element>> operator()() {
    leat::random_engine& random = all.w.random();
    const std::int64_t first = next;
    const auto rows = static_cast<std::int64_t>(expands ? random.uniform_below(4) : 1);
    next = std::min(end, first + rows);
    const std::int64_t behind = next;
    if (random.uniform_below(3) > 0) co_await leat::sleep_for(1ms * random.uniform_below(5));
    if (fails && behind == end) {
      all.failed = true;
      throw leat::failure(leat::errc::data_loss, "planted");
    }
    if (first >= end) co_return std::nullopt;
    leat::filtered_element result;
    if (!expands) {
      result = {element_of(first), random.uniform_below(4) > 0};
      if (std::get<bool>(result.keep)) all.given.insert(first);
      co_return result;
    }
    tensor keep(dtype::boolean, {behind - first});
    std::vector<tensor_tuple> elements;
    for (std::int64_t id = first; id < behind; ++id) {
      const bool wanted = random.uniform_below(4) > 0;
      keep.mutable_values<bool>()[static_cast<std::size_t>(id - first)] = wanted;
      if (wanted) all.given.insert(id);
      elements.push_back(element_of(id));
    }
    result = {spec().stack(elements).components(), keep};
    co_return result;
  }
};

// The batches that a consumer has popped.
struct consumer {
  std::vector<std::int64_t> ids;
  std::vector<std::size_t> sizes;
  bool data_loss = false;
};

void take(const leat::column_batch& batch, consumer& c) {
  const auto ids = batch[0].values<std::int64_t>();
  const leat::sparse_tensor weights = batch.sparse(2);
  std::size_t at = 0;
  for (std::size_t row = 0; row < ids.size(); ++row) {
    require(batch[1].strings()[row] == std::to_string(ids[row]), "columns are not aligned");
    for (std::int64_t i = 0; i < weights_of(ids[row]); ++i, ++at) {
      require(weights.indices.values<std::int64_t>()[2 * at] == static_cast<std::int64_t>(row) &&
                  weights.values.values<std::int64_t>()[at] == ids[row],
              "sparse values belong to a different row");
    }
  }
  require(at == weights.values.count(), "sparse values without a row");
  c.ids.insert(c.ids.end(), ids.begin(), ids.end());
  c.sizes.push_back(batch.rows());
}

template <class Batcher>
task<> consume(Batcher& b, consumer& c) {
  try {
    while (const auto batch = co_await b.next()) take(*batch, c);
  } catch (const leat::failure& e) {
    c.data_loss = e.code() == leat::errc::data_loss;
  }
}

template <class Batcher>
task<> run(world& w, Batcher& b, leat::batch_remainder remainder, bool in_order) {
  account all{w, {}, false};
  const bool one_fails = below(w, 6) == 0;
  const bool stopped = !one_fails && below(w, 6) == 0;
  const auto sources = static_cast<std::int64_t>(1 + below(w, 3));
  bool ordered = in_order;
  for (std::int64_t s = 0; s < sources; ++s) {
    leat::source_options how;
    how.tasks = 1 + below(w, 4);
    how.ordered = below(w, 2) == 0;
    how.enqueue_many = below(w, 2) == 0;
    if (how.enqueue_many) how.keep = {leat::unknown_dimension};
    const auto count = static_cast<std::int64_t>(below(w, 30));
    b.add(numbers{all, 1000 * s, 1000 * s + count, how.enqueue_many, one_fails && s == 0}, how);
    ordered = ordered && (how.ordered || how.tasks == 1);
  }
  w.add_invariants(b.queue());
  leat::coordinator coord("batching");
  leat::task_group group("batching");
  // Sources record their elements in one account, so all of them run on one thread.
  const bool with_coordinator = stopped || below(w, 2) == 0;
  leat::scheduler& sched = w.thread(w.threads() - 1);
  if (with_coordinator) {
    b.start(coord, sched);
  } else {
    b.start(group, sched);
  }
  std::vector<consumer> consumers(1 + below(w, 2));
  leat::task_group consuming("consumers");
  for (std::size_t i = 0; i < consumers.size(); ++i) {
    consuming.spawn_on(w.thread(i % w.threads()), consume(b, consumers[i]), "consumer");
  }
  if (stopped) {
    co_await leat::sleep_for(1ms * below(w, 30));
    coord.request_stop();
  }
  co_await consuming.join();
  bool joined_with_loss = false;
  try {
    if (with_coordinator) {
      co_await coord.join({.grace = 240h});
    } else {
      co_await group.join();
    }
  } catch (const leat::failure& e) {
    joined_with_loss = e.code() == leat::errc::data_loss;
  }
  for (const std::string& text : leat_test::error_texts(coord.secondary_errors())) {
    require(all.failed && text.starts_with("planted"), "no source failed with: " + text);
  }
  w.clear_invariants();

  std::multiset<std::int64_t> got;
  std::size_t smaller = 0;
  for (const consumer& c : consumers) {
    got.insert(c.ids.begin(), c.ids.end());
    for (const std::size_t size : c.sizes) {
      require(size > 0 && size <= b.batch_size(), "batch has a wrong size");
      if (size < b.batch_size()) ++smaller;
    }
    require(c.data_loss == all.failed, "consumer does not receive the error of a source");
  }
  require(joined_with_loss == all.failed, "owner does not receive the error of a source");
  require(smaller <= (remainder == leat::batch_remainder::keep ? 1U : 0U), "batch is not full");
  for (const std::int64_t id : got) {
    require(got.count(id) == 1 && all.given.count(id) == 1,
            "element occurs more than once or was never pushed");
  }
  if (!all.failed && !stopped) {
    require(got.size() + b.dropped() == all.given.size(), "elements are missing");
    require(b.dropped() < b.batch_size(), "a full batch was dropped");
  }
  if (ordered && consumers.size() == 1) {
    for (std::int64_t s = 0; s < sources; ++s) {
      std::int64_t before = -1;
      for (const std::int64_t id : consumers[0].ids) {
        if (id / 1000 != s) continue;
        require(id > before, "elements of a source are not in order");
        before = id;
      }
    }
  }
}

}  // namespace

task<> batching(world& w) {
  const auto batch_size = 1 + below(w, 6);
  const auto capacity = 2 + below(w, 10);
  const leat::batch_remainder remainder =
      below(w, 2) == 0 ? leat::batch_remainder::keep : leat::batch_remainder::drop;
  // The largest element has 64 bytes.
  const std::size_t max_size = below(w, 3) == 0 ? 200 : leat::unbounded;
  if (below(w, 2) == 0) {
    leat::tensor_batcher b(spec(), {.batch_size = batch_size,
                                    .capacity = capacity,
                                    .remainder = remainder,
                                    .max_weight = max_size});
    co_await run(w, b, remainder, true);
  } else {
    leat::tensor_shuffle_batcher b(spec(), {.batch_size = batch_size,
                                            .capacity = capacity,
                                            .min_after_dequeue = below(w, capacity),
                                            .seed = w.random()(),
                                            .remainder = remainder,
                                            .max_weight = max_size});
    co_await run(w, b, remainder, false);
  }
}

}  // namespace simulation
