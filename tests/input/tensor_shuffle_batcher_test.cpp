#include "leat/input/tensor_batcher.hpp"

#include <algorithm>

#include "pipeline/batching.hpp"
#include "support/leat_test.hpp"

// The families of tf.train.shuffle_batch and maybe_batch.

namespace tensor_shuffle_batcher_test {

using namespace batching;
using leat::filtered_element;
using leat::tensor_batcher;
using leat::tensor_shuffle_batcher;
using sizes = std::vector<std::size_t>;
using options = leat::tensor_shuffle_batcher_options;

// x, the sparse vector [x] that contains -x, and its text.
tensor_tuple three(std::int64_t x) {
  std::vector<tensor> all = sparse_vector({0}, {-x}, 1);
  all.insert(all.begin(), number(x));
  all.push_back(tensor::scalar(std::to_string(x)));
  return tensor_tuple(std::move(all));
}
batch_spec spec_of_three() {
  return batch_spec({{.type = dtype::int64, .shape = {}},
                     {.type = dtype::int64, .shape = {1}, .sparse = true},
                     {.type = dtype::string, .shape = {}}});
}

// Checks that every element is complete and arrives once, in another order.
void check_shuffled(const batches& all, const sizes& rows, std::int64_t limit) {
  CHECK(rows_of(all) == rows);
  numbers values;
  for (const column_batch& b : all) {
    const auto x = b[0].values<std::int64_t>();
    const leat::sparse_tensor minus = b.sparse(1);
    for (std::size_t r = 0; r < x.size(); ++r) {
      values.push_back(x[r]);
      CHECK(minus.values.values<std::int64_t>()[r] == -x[r]);
      CHECK(b[2].strings()[r] == std::to_string(x[r]));
    }
  }
  CHECK(values != from_to(0, limit));
  std::sort(values.begin(), values.end());
  CHECK(values == from_to(0, limit));
}

options of_ten() {
  return {.batch_size = 10, .capacity = 32, .min_after_dequeue = 16, .seed = 141421};
}

// ----------------------------------------------------------------------------------- shuffle_batch

LEAT_TEST("tensor_shuffle_batcher: every element once, in another order, from one or more tasks") {
  for (const std::size_t tasks : {1U, 4U}) {
    for (const std::int64_t limit : {30, 35}) {
      CAPTURE(tasks, limit);
      tensor_shuffle_batcher b(spec_of_three(), of_ten());
      b.add(count_to(limit, three), {.tasks = tasks});
      const batches all = co_await batches_of(b);
      check_shuffled(all, limit == 30 ? sizes{10, 10, 10} : sizes{10, 10, 10, 5}, limit);
    }
  }
}

LEAT_TEST("tensor_shuffle_batcher: a seed decides the order") {
  numbers seen[3];
  for (int i = 0; i < 3; ++i) {
    options o = of_ten();
    if (i == 2) o.seed = 2;
    tensor_shuffle_batcher b(number_spec(), o);
    b.add(count_to(50, one));
    const batches all = co_await batches_of(b);
    seen[i] = values_of(all);
  }
  CHECK(seen[0] == seen[1]);
  CHECK(seen[0] != seen[2]);
}

LEAT_TEST("tensor_shuffle_batcher: columns with names") {
  const batch_spec spec({{.type = dtype::int64, .shape = {}, .name = "c"},
                         {.type = dtype::string, .shape = {}, .name = "S"}});
  tensor_shuffle_batcher b(spec, of_ten());
  b.add(count_to(30, [](std::int64_t x) {
    return tensor_tuple::named({{"c", number(x)}, {"S", tensor::scalar(std::to_string(x))}});
  }));
  const batches all = co_await batches_of(b);
  numbers values;
  for (const column_batch& batch : all) {
    const auto c = batch["c"].values<std::int64_t>();
    for (std::size_t r = 0; r < c.size(); ++r) {
      CHECK(batch["S"].strings()[r] == std::to_string(c[r]));
      values.push_back(c[r]);
    }
  }
  CHECK(values != from_to(0, 30));
  CHECK(counted(values) == counted(from_to(0, 30)));
}

LEAT_TEST("tensor_shuffle_batcher: joined sources are mixed") {
  for (const std::int64_t more : {0, 2}) {
    options o = of_ten();
    o.batch_size = 5;
    tensor_shuffle_batcher b(leat::intersect_specs({number_and_text(), number_and_text()}), o);
    b.add(count_to(25 + more, as));
    b.add(count_to(35 + more, bs));
    const batches all = co_await batches_of(b);
    sizes expected(12, 5);
    if (more > 0) expected.push_back(4);
    CHECK(rows_of(all) == expected);
    numbers of_a;
    int mixed = 0;
    for (const column_batch& batch : all) {
      std::size_t here = 0;
      for (std::size_t r = 0; r < batch.rows(); ++r) {
        if (batch[1].strings()[r] != "a") continue;
        ++here;
        of_a.push_back(batch[0].values<std::int64_t>()[r]);
      }
      mixed += here > 0 && here < batch.rows() ? 1 : 0;
    }
    CHECK(mixed > 1);
    CHECK(of_a != from_to(0, 25 + more));
    CHECK(counted(of_a) == counted(from_to(0, 25 + more)));
    CHECK(counted(values_of(all))[99] == 35 + more);
  }
}

TEST_CASE("tensor_shuffle_batcher: the minimum must be below the capacity") {
  const auto refused = [](std::size_t minimum) {
    return refusal([&] {
      const options o{.batch_size = 2, .capacity = 10, .min_after_dequeue = minimum};
      return tensor_shuffle_batcher(number_spec(), o).batch_size();
    });
  };
  CHECK(contains(refused(10), "queue 'shuffle_batch': min_after_dequeue"));
  CHECK(contains(refused(static_cast<std::size_t>(-1)), "min_after_dequeue"));
  CHECK(refused(9).empty());
}

LEAT_TEST("tensor_shuffle_batcher: pads with dynamic_pad") {
  tensor_shuffle_batcher b(batch_spec({{.type = dtype::int64, .shape = {any}}}),
                           {.batch_size = 2, .capacity = 4, .seed = 1, .dynamic_pad = true});
  const tensor_tuple shorter(vector_of({1}));
  const tensor_tuple longer(vector_of({2, 3}));
  CHECK(co_await b.push(shorter));
  CHECK(co_await b.push(longer));
  b.close();
  const auto batch = co_await b.next();
  CHECK((*batch)[0].shape() == leat::shape{2, 2});
}

// ------------------------------------------------------------------------------------------- maybe

filtered_element even(std::int64_t x) { return {one(x), x % 2 == 0}; }

// Rows x, x + 1, x + 2 and x + 3, with one keep value each.
filtered_element even_rows(std::int64_t x) {
  return {tensor_tuple(vector_of(from_to(4 * x, 4 * x + 4))),
          tensor::of<bool>({4}, {true, false, true, false})};
}

numbers evens() {
  numbers out;
  for (std::int64_t x = 0; x < 40; x += 2) out.push_back(x);
  return out;
}

leat::tensor_batcher_options five() { return {.batch_size = 5}; }
options five_shuffled() {
  return {.batch_size = 5, .capacity = 32, .min_after_dequeue = 16, .seed = 1};
}

template <class Batcher, class Options>
task<> check_evens(Options o, leat::source_options how, bool join) {
  Batcher b(number_spec(), o);
  if (join) {  // another source returns the other half
    auto upper = [](std::int64_t x) { return even(x + 20); };
    b.add(count_to(20, even), how);
    b.add(count_to(20, upper), how);
  } else {
    b.add(count_to(40, even), how);
  }
  const batches all = co_await batches_of(b);
  CHECK(rows_of(all) == sizes(4, 5));
  CHECK(counted(values_of(all)) == counted(evens()));
}

LEAT_TEST("filtered_element: drops elements with a false keep") {
  for (const std::size_t tasks : {1U, 5U}) {
    leat::source_options how;
    how.tasks = tasks;
    for (const bool join : {false, true}) {
      co_await check_evens<tensor_batcher>(five(), how, join);
      co_await check_evens<tensor_shuffle_batcher>(five_shuffled(), how, join);
    }
  }
}

// Filters out everything, and never waits.
struct none {
  std::size_t& calls;
  std::size_t most;

  task<std::optional<filtered_element>> operator()() const { return next(calls, most); }
  static task<std::optional<filtered_element>> next(std::size_t& calls, std::size_t most) {
    if (++calls >= most) co_return std::nullopt;
    co_return filtered_element{one(0), false};
  }
};

task<> stop_after_a_moment(tensor_batcher& b) {
  leat::coordinator coord;
  b.start(coord);
  co_await leat::sleep_for(std::chrono::milliseconds(1));
  coord.request_stop();
  co_await coord.join();
}

// On real time, because a turn of a simulation has no end.
TEST_CASE("filtered_element: a stop ends a source that never waits and keeps nothing") {
  for (const bool ordered : {false, true}) {
    constexpr std::size_t most = 3'000'000;
    std::size_t calls = 0;
    tensor_batcher b(number_spec(), five());
    b.add(none{calls, most}, {.tasks = ordered ? 2U : 1U, .ordered = ordered});
    leat::block_on(stop_after_a_moment(b));
    CHECK(calls > 0);
    CHECK(calls < most);
  }
}

LEAT_TEST("filtered_element: keeps or drops single rows") {
  for (const std::size_t tasks : {1U, 5U}) {
    leat::source_options how{.tasks = tasks, .enqueue_many = true, .keep = {any}};
    tensor_batcher b(number_spec(), five());
    b.add(count_to(10, even_rows), how);
    const batches all = co_await batches_of(b);
    CHECK(rows_of(all) == sizes(4, 5));
    CHECK(counted(values_of(all)) == counted(evens()));
  }
}

LEAT_TEST("filtered_element: keeps or drops all rows with one value") {
  tensor_batcher b(number_spec(), five());
  auto make = [](std::int64_t x) {
    return filtered_element{tensor_tuple(vector_of({x, x})), tensor::scalar(x % 2 == 0)};
  };
  b.add(count_to(4, make), {.enqueue_many = true});
  const batches all = co_await batches_of(b);
  CHECK(values_of(all) == numbers{0, 0, 2, 2});
}

LEAT_TEST("filtered_element: rows of sparse values") {
  // A sparse value of 2 x 4. Only the first row is kept, in a batch of one.
  tensor_batcher b(batch_spec({{.type = dtype::int64, .shape = {4}, .sparse = true}}),
                   {.batch_size = 1});
  auto make = [](std::int64_t) {
    const tensor indices = tensor::of<std::int64_t>({4, 2}, {0, 1, 0, 2, 1, 0, 1, 3});
    return filtered_element{tensor_tuple(indices, vector_of({5, 4, 3, 2}), vector_of({2, 4})),
                            tensor::of<bool>({2}, {true, false})};
  };
  b.add(count_to(1, make), {.enqueue_many = true, .keep = {any}});
  const batches all = co_await batches_of(b);
  REQUIRE(all.size() == 1);
  const leat::sparse_tensor kept = all[0].sparse(0);
  const tensor indices = tensor::of<std::int64_t>({2, 2}, {0, 1, 0, 2});
  CHECK(kept.indices == indices);
  CHECK(kept.values == vector_of({5, 4}));
  CHECK(kept.dense_shape == vector_of({1, 4}));
}

TEST_CASE("filtered_element: refuses an invalid keep at add()") {
  const auto refused_by = [](auto b, leat::source_options how) {
    return refusal([&] {
      b->add(count_to(1, even_rows), how);
      return 0;
    });
  };
  const auto refused = [&](const leat::source_options& how) {
    std::string by_batch = refused_by(std::make_unique<tensor_batcher>(number_spec(), five()), how);
    const std::string by_shuffle =
        refused_by(std::make_unique<tensor_shuffle_batcher>(number_spec(), five_shuffled()), how);
    CHECK(by_batch.empty() == by_shuffle.empty());
    return by_batch;
  };
  CHECK(contains(refused({.keep = {any}}),
                 "batcher 'batch', source 0: source_options::keep has the shape [?]: set "
                 "enqueue_many"));
  CHECK(contains(refused({.enqueue_many = true, .keep = {any, any}}),
                 "keep has the shape [?,?], must have [], or [?]"));
  CHECK(contains(refused({.enqueue_many = true, .keep = leat::partial_shape::unknown_rank()}),
                 "keep has an unknown rank"));
  CHECK(contains(refused({.tasks = 0}), "source_options::tasks is 0"));
  CHECK(refused({.enqueue_many = true, .keep = {any}}).empty());
  CHECK(contains(refusal([] {
                   tensor_batcher b(number_spec(), five());
                   b.add(count_to(1, one), {.enqueue_many = true, .keep = {any}});
                   return 0;
                 }),
                 "the source does not return filtered_element"));
}

// Returns the error for a keep value that does not match.
template <class Make>
task<std::string> error_of(Make make, leat::source_options how) {
  tensor_batcher b(number_spec(), five());
  b.add(count_to(1, make), how);
  task_group group;
  b.start(group);
  std::string said = co_await own_message_of(b.next());
  static_cast<void>(co_await code_of(group.join()));
  co_return said;
}

LEAT_TEST("filtered_element: refuses a keep that does not match") {
  const leat::source_options rows{.enqueue_many = true, .keep = {any}};
  auto too_many = [](std::int64_t) {
    return filtered_element{tensor_tuple(vector_of({1, 2})), tensor(dtype::boolean, {3})};
  };
  std::string said = co_await error_of(too_many, rows);
  CHECK(said.starts_with("batcher 'batch', source 0: keep has 3 values"));
  auto one_for_all = [](std::int64_t) {
    return filtered_element{tensor_tuple(vector_of({1, 2})), true};
  };
  said = co_await error_of(one_for_all, rows);
  CHECK(said == "batcher 'batch', source 0: keep has the shape [], must have [?]");
  auto no_bool = [](std::int64_t) { return filtered_element{one(1), number(1)}; };
  said = co_await error_of(no_bool, leat::source_options());
  CHECK(said == "batcher 'batch', source 0: keep has type int64, must have bool");
}

// ------------------------------------------------------------------------------------------ sparse

LEAT_TEST("tensor_batcher: a batch of sparse elements has one more dimension") {
  tensor_batcher elements(batch_spec({{.type = dtype::int64, .shape = {1}, .sparse = true}}),
                          {.batch_size = 2});
  const tensor_tuple element(sparse_vector({0}, {7}, 1));
  for (int i = 0; i < 2; ++i) CHECK(co_await elements.push(element));
  const auto of_two = co_await elements.next();
  CHECK(of_two->sparse(0).dense_shape == vector_of({2, 1}));

  // The rows of a vector are scalars.
  tensor_batcher rows(batch_spec({{.type = dtype::int64, .shape = {}, .sparse = true}}),
                      {.batch_size = 2});
  const tensor_tuple batch(sparse_vector({1}, {7}, 2));
  CHECK(co_await rows.push_many(batch) == 2);
  const auto again = co_await rows.next();
  CHECK(again->sparse(0).dense_shape == vector_of({2}));
  CHECK(again->components() == batch);
}

}  // namespace tensor_shuffle_batcher_test
