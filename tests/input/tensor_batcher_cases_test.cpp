#include "leat/input/tensor_batcher.hpp"

#include <algorithm>

#include "pipeline/batching.hpp"
#include "support/leat_test.hpp"

// The tf.train.batch family.

namespace tensor_batcher_cases_test {

using namespace batching;
using leat::batch_remainder;
using leat::tensor_batcher;
using sizes = std::vector<std::size_t>;

// x, the sparse vector [x, -x] and "string".
tensor_tuple three(std::int64_t x) {
  std::vector<tensor> all = sparse_vector({0, 1}, {x, -x}, 2);
  all.insert(all.begin(), number(x));
  all.push_back(tensor::scalar("string"));
  return tensor_tuple(std::move(all));
}
batch_spec spec_of_three() {
  return batch_spec({{.type = dtype::int64, .shape = {}},
                     {.type = dtype::int64, .shape = {2}, .sparse = true},
                     {.type = dtype::string, .shape = {}}});
}

// Returns the rows [x, -x] for `first`, first + 1, ... as one sparse value.
leat::sparse_tensor sparse_rows(std::int64_t first, std::int64_t rows) {
  numbers indices;
  numbers values;
  for (std::int64_t r = 0; r < rows; ++r) {
    indices.insert(indices.end(), {r, 0, r, 1});
    values.insert(values.end(), {first + r, -(first + r)});
  }
  return {.indices = tensor::of<std::int64_t>({2 * rows, 2}, indices),
          .values = vector_of(values),
          .dense_shape = vector_of({rows, 2})};
}

bool all_are(const tensor& strings, std::string_view text) {
  const auto all = strings.strings();
  return std::all_of(all.begin(), all.end(), [&](std::string_view s) { return s == text; });
}

void check_ten_by_ten(const batches& all, std::size_t numbers_at, std::size_t sparse_at,
                      std::size_t text_at) {
  CHECK(rows_of(all) == sizes{10, 10, 10});
  CHECK(values_of(all, numbers_at) == from_to(0, 30));
  for (std::size_t i = 0; i < all.size(); ++i) {
    CHECK(all[i].sparse(sparse_at) == sparse_rows(static_cast<std::int64_t>(10 * i), 10));
    CHECK(all_are(all[i][text_at], "string"));
  }
}

// ------------------------------------------------------------------------------------------ batch

LEAT_TEST("tensor_batcher: columns of numbers, sparse vectors and strings") {
  tensor_batcher b(spec_of_three(), {.batch_size = 10});
  b.add(count_to(30, three));
  const batches all = co_await batches_of(b);
  check_ten_by_ten(all, 0, 1, 2);
  const auto at = reinterpret_cast<std::uintptr_t>(all[0][0].values<std::int64_t>().data());
  CHECK(at % 64 == 0);
}

LEAT_TEST("tensor_batcher: columns with names") {
  const batch_spec spec({{.type = dtype::int64, .shape = {}, .name = "c"},
                         {.type = dtype::int64, .shape = {2}, .name = "s", .sparse = true},
                         {.type = dtype::string, .shape = {}, .name = "S"}});
  tensor_batcher b(spec, {.batch_size = 10});
  b.add(count_to(30, [](std::int64_t x) {
    std::vector<tensor> parts = std::move(three(x)).take();
    return tensor_tuple::named({{"c", parts[0]},
                                {"s/indices", parts[1]},
                                {"s/values", parts[2]},
                                {"s/dense_shape", parts[3]},
                                {"S", parts[4]}});
  }));
  const batches all = co_await batches_of(b);
  CHECK(std::vector<std::string>(all[0].names().begin(), all[0].names().end()) ==
        std::vector<std::string>{"S", "c", "s"});
  check_ten_by_ten(all, 1, 2, 0);
  CHECK(all[1]["c"] == all[1][1]);
  CHECK(all[1].sparse("s") == all[1].sparse(2));
}

LEAT_TEST("tensor_batcher: sorts named columns") {
  std::vector<leat::column_spec> columns;
  std::vector<leat::named_tensor> values;
  const std::pair<const char*, int> given[] = {{"a", 1},   {"b", 2},   {"c", 3},
                                               {"aa", 11}, {"bb", 22}, {"cc", 33}};
  for (const auto& [name, value] : given) {
    columns.push_back({.type = dtype::int64, .shape = {}, .name = name});
    values.emplace_back(name, number(value));
  }
  tensor_batcher b(batch_spec(columns), {.batch_size = 1});
  CHECK(co_await b.push(tensor_tuple::named(values)));
  b.close();
  const batches all = co_await rest_of(b);
  numbers order;
  for (std::size_t i = 0; i < 6; ++i) order.push_back(all[0][i].value<std::int64_t>());
  CHECK(order == numbers{1, 11, 2, 22, 3, 33});
}

LEAT_TEST("tensor_batcher: dynamic_pad fills up to the longest of a batch") {
  const batch_spec spec(
      {{.type = dtype::int64, .shape = {}}, {.type = dtype::string, .shape = {any}}});
  tensor_batcher b(spec, {.batch_size = 10, .dynamic_pad = true});
  b.add(count_to(30, [](std::int64_t x) {
    const std::vector<std::string> copies(static_cast<std::size_t>(x), "string");
    return tensor_tuple(number(x), tensor::of({x}, std::span<const std::string>(copies)));
  }));
  const batches all = co_await batches_of(b);
  REQUIRE(all.size() == 3);
  for (std::int64_t i = 0; i < 3; ++i) {
    const tensor& texts = all[static_cast<std::size_t>(i)][1];
    const std::int64_t width = 10 * i + 9;
    REQUIRE((texts.shape() == leat::shape{10, width}));
    for (std::int64_t r = 0; r < 10; ++r) {
      for (std::int64_t c = 0; c < width; ++c) {
        const std::string_view text = texts.strings()[static_cast<std::size_t>(r * width + c)];
        REQUIRE(text == (c < 10 * i + r ? "string" : ""));
      }
    }
  }
}

LEAT_TEST("tensor_batcher: several tasks call one source") {
  for (const std::int64_t limit : {30, 35}) {
    tensor_batcher b(spec_of_three(), {.batch_size = 10});
    b.add(count_to(limit, three), {.tasks = 4});
    const batches all = co_await batches_of(b);
    CHECK(rows_of(all) == (limit == 30 ? sizes{10, 10, 10} : sizes{10, 10, 10, 5}));
    numbers values;
    for (const column_batch& batch : all) {
      const auto x = batch[0].values<std::int64_t>();
      const leat::sparse_tensor pairs = batch.sparse(1);
      for (std::size_t r = 0; r < x.size(); ++r) {
        values.push_back(x[r]);
        CHECK(pairs.values.values<std::int64_t>()[2 * r] == x[r]);
        CHECK(pairs.values.values<std::int64_t>()[2 * r + 1] == -x[r]);
      }
      CHECK(all_are(batch[2], "string"));
    }
    std::sort(values.begin(), values.end());
    CHECK(values == from_to(0, limit));
  }
}

LEAT_TEST("tensor_batcher: the last batch may be smaller") {
  tensor_batcher b(spec_of_three(), {.batch_size = 10});
  b.add(count_to(35, three));
  const batches all = co_await batches_of(b);
  CHECK(rows_of(all) == sizes{10, 10, 10, 5});
  CHECK(all[3].sparse(1) == sparse_rows(30, 5));
  CHECK(all[3][2].shape() == leat::shape{5});
  CHECK(b.dropped() == 0);
}

LEAT_TEST("tensor_batcher: drops and counts a smaller last batch") {
  tensor_batcher b(spec_of_three(), {.batch_size = 10, .remainder = batch_remainder::drop});
  b.add(count_to(35, three));
  const batches all = co_await batches_of(b);
  CHECK(rows_of(all) == sizes{10, 10, 10});
  CHECK(b.dropped() == 5);
}

LEAT_TEST("tensor_batcher: unsigned numbers") {
  const batch_spec spec(
      {{.type = dtype::uint32, .shape = {}}, {.type = dtype::uint64, .shape = {}}});
  tensor_batcher b(spec, {.batch_size = 3});
  b.add(count_to(3, [](std::int64_t x) {
    return tensor_tuple(
        tensor::scalar(static_cast<std::uint32_t>(UINT32_MAX - x)),
        tensor::scalar(static_cast<std::uint64_t>(UINT64_MAX) - static_cast<std::uint64_t>(x)));
  }));
  const batches all = co_await batches_of(b);
  CHECK(all[0][0].values<std::uint32_t>()[2] == UINT32_MAX - 2);
  CHECK(all[0][1].values<std::uint64_t>()[2] == UINT64_MAX - 2);
}

TEST_CASE("tensor_batcher: refuses specs that cannot be batched at construction") {
  const auto refused = [](batch_spec spec, leat::tensor_batcher_options o) {
    return refusal([&] { return tensor_batcher(std::move(spec), o).batch_size(); });
  };
  const batch_spec no_rank({{.type = dtype::int64, .name = "x"}});
  CHECK(contains(refused(no_rank, {.batch_size = 2}),
                 "batcher 'batch': column 'x' has an unknown rank"));
  CHECK(contains(refused(no_rank, {.batch_size = 2, .dynamic_pad = true}), "has an unknown rank"));
  const batch_spec no_length(
      {{.type = dtype::int64, .shape = {}}, {.type = dtype::int64, .shape = {any, 3}}});
  CHECK(contains(refused(no_length, {.batch_size = 2}),
                 "batcher 'batch': column 1 has the shape [?,3]: specify all dimensions, "
                 "or set dynamic_pad"));
  CHECK(refused(no_length, {.batch_size = 2, .dynamic_pad = true}).empty());
  CHECK(contains(refused(number_spec(), {.batch_size = 0}),
                 "batcher 'batch': batch_size is 0, must be 1 or more"));
  CHECK(contains(refused(number_spec(), {.batch_size = static_cast<std::size_t>(-1)}),
                 "batch_size is -1"));
  CHECK(contains(refused(number_spec(), {.batch_size = 1, .capacity = 0}), "capacity is 0"));
  CHECK_FAILS(errc::invalid_argument, "sparse column 'w' has an unknown rank",
              batch_spec({{.type = dtype::int64, .name = "w", .sparse = true}}));
}

LEAT_TEST("tensor_batcher: a shape, by name; and one column alone") {
  const batch_spec spec({{.type = dtype::int64, .shape = {2}, .name = "c"}});
  tensor_batcher b(spec, {.batch_size = 8});
  const tensor_tuple element = tensor_tuple::named({{"c", vector_of({12, 12})}});
  for (int i = 0; i < 8; ++i) CHECK(co_await b.push(element));
  auto batch = co_await b.next();
  CHECK((*batch)["c"].shape() == leat::shape{8, 2});
  CHECK(batch->count() == 1);
  CHECK((*batch)[0] == (*batch)["c"]);
  b.close();
}

LEAT_TEST("tensor_batcher: a batch may be larger than the queue") {
  tensor_batcher b(number_spec(), {.batch_size = 10, .capacity = 4});
  b.add(count_to(20, one));
  const batches all = co_await batches_of(b);
  CHECK(columns_of(all) == std::vector<numbers>{from_to(0, 10), from_to(10, 20)});
}

// ----------------------------------------------------------------------------------- enqueue_many

LEAT_TEST("tensor_batcher: a source may return zero, one or many elements at a time") {
  tensor_batcher b(number_and_text(), {.batch_size = 4});
  // Call x returns x % 3 rows that contain x.
  b.add(count_to(9,
                 [](std::int64_t x) {
                   const auto rows = static_cast<std::size_t>(x % 3);
                   const std::vector<std::string> texts(rows, "t");
                   return tensor_tuple(vector_of(numbers(rows, x)),
                                       tensor::of({x % 3}, std::span<const std::string>(texts)));
                 }),
        {.enqueue_many = true});
  const batches all = co_await batches_of(b);
  CHECK(rows_of(all) == sizes{4, 4, 1});
  CHECK(values_of(all) == numbers{1, 2, 2, 4, 5, 5, 7, 8, 8});
}

LEAT_TEST("tensor_batcher: columns with different numbers of rows") {
  tensor_batcher b(number_and_text(), {.batch_size = 4});
  b.add(count_to(1,
                 [](std::int64_t) {
                   return tensor_tuple(vector_of({1, 2, 3}), tensor(dtype::string, {4}));
                 }),
        {.enqueue_many = true, .name = "pairs"});
  leat::coordinator coord;
  b.start(coord);
  const std::string seen = co_await own_message_of(b.next());
  CHECK(seen.starts_with("batcher 'batch', pairs: column 0"));
  CHECK(co_await own_message_of(coord.join()) == seen);
}

// ------------------------------------------------------------------------------------- batch_join

// Returns the a-values in the order of their arrival, and checks their texts.
numbers values_of_a(const batches& all) {
  numbers out;
  for (const column_batch& b : all) {
    const auto x = b[0].values<std::int64_t>();
    for (std::size_t r = 0; r < x.size(); ++r) {
      const bool is_a = b[1].strings()[r] == "a";
      REQUIRE((is_a || x[r] == 99));
      if (is_a) out.push_back(x[r]);
    }
  }
  return out;
}

std::string with_names(std::string_view first, std::string_view second) {
  return refusal([&] {
    const auto spec = [](std::string_view name) {
      return batch_spec({{.type = dtype::int64, .shape = {}, .name = "k"},
                         {.type = dtype::int64, .shape = {}, .name = std::string(name)}});
    };
    return leat::intersect_specs({spec(first), spec(second)}).count();
  });
}

LEAT_TEST("tensor_batcher: joined sources, each in its order") {
  for (const std::int64_t more : {0, 2}) {
    tensor_batcher b(leat::intersect_specs({number_and_text(), number_and_text()}),
                     {.batch_size = 5});
    b.add(count_to(70 + more, as));
    b.add(count_to(90 + more, bs));
    const batches all = co_await batches_of(b);
    sizes expected(32, 5);
    if (more > 0) expected.push_back(4);
    CHECK(rows_of(all) == expected);
    CHECK(values_of_a(all) == from_to(0, 70 + more));
    CHECK(counted(values_of(all))[99] == 90 + more);
  }
}

LEAT_TEST("tensor_batcher: joined sources with names") {
  const batch_spec spec({{.type = dtype::string, .shape = {}, .name = "text"},
                         {.type = dtype::int64, .shape = {}, .name = "number"}});
  tensor_batcher b(leat::intersect_specs({spec, spec}), {.batch_size = 5});
  const auto named = [](tensor_tuple t) {
    return tensor_tuple::named({{"text", t[1]}, {"number", t[0]}});
  };
  b.add(count_to(70, [named](std::int64_t x) { return named(as(x)); }));
  b.add(count_to(90, [named](std::int64_t x) { return named(bs(x)); }));
  const batches all = co_await batches_of(b);
  CHECK(all.size() == 32);
  CHECK(values_of_a(all) == from_to(0, 70));
  CHECK(all[0]["number"] == all[0][0]);
}

TEST_CASE("tensor_batcher: sources that do not fit together cannot be joined") {
  CHECK(contains(with_names("a", "b"),
                 "differ in the names of their columns: source 0 has int64 [] 'a', int64 [] 'k'; "
                 "source 1 has int64 [] 'b', int64 [] 'k'"));
  CHECK(with_names("a", "a").empty());
  const auto joined = [](std::initializer_list<batch_spec> specs) {
    return refusal([&] { return leat::intersect_specs(specs).count(); });
  };
  const batch_spec other(
      {{.type = dtype::float32, .shape = {}}, {.type = dtype::string, .shape = {}}});
  CHECK(contains(joined({number_and_text(), other}),
                 "differ in the type of column 0: source 0 has int64 [], string []; source 1 "
                 "has float32 [], string []"));
  CHECK(contains(joined({}), "no specs to join"));
  CHECK(contains(joined({number_spec(), number_and_text()}), "their number of columns"));
  const batch_spec dense({{.type = dtype::int64, .shape = {any}}});
  const batch_spec sparse({{.type = dtype::int64, .shape = {any}, .sparse = true}});
  CHECK(contains(joined({dense, sparse}), "the sparseness of column 0"));
  CHECK(contains(joined({dense, number_spec()}), "the shape of column 0"));
  // Every pair is compared, because a column with an unknown dimension joins with every other one.
  const batch_spec three_long({{.type = dtype::int64, .shape = {3}}});
  const batch_spec four_long({{.type = dtype::int64, .shape = {4}}});
  CHECK(contains(joined({three_long, dense, four_long}), "source 0 has int64 [3]; source 2"));
}

LEAT_TEST("tensor_batcher: joined shapes are intersected, or generalized for padding") {
  const batch_spec known({{.type = dtype::int64, .shape = {3}}});
  const batch_spec unknown({{.type = dtype::int64, .shape = {any}}});
  const batch_spec merged = leat::intersect_specs({unknown, known});
  CHECK((merged[0].shape == leat::partial_shape{3}));
  tensor_batcher fixed(merged, {.batch_size = 2});  // not refused: source 1 knows the shape
  CHECK(co_await fixed.push(tensor_tuple(vector_of(from_to(0, 3)))));
  const std::string said = co_await message_of(fixed.push(tensor_tuple(vector_of(from_to(0, 4)))));
  CHECK(said.starts_with("batcher 'batch': Shape mismatch"));

  tensor_batcher padded(leat::generalize_specs({known, unknown}),
                        {.batch_size = 2, .dynamic_pad = true});
  CHECK(co_await padded.push(tensor_tuple(vector_of(from_to(0, 3)))));
  CHECK(co_await padded.push(tensor_tuple(vector_of(from_to(0, 4)))));
  const auto batch = co_await padded.next();
  const tensor expected = tensor::of<std::int64_t>({2, 4}, {0, 1, 2, 0, 0, 1, 2, 3});
  CHECK((*batch)[0] == expected);
}

// ---------------------------------------------------------------------------------------- the rest

LEAT_TEST("tensor_batcher: sparse rows of different sizes") {
  tensor_batcher b(batch_spec({{.type = dtype::int64, .shape = {any}, .sparse = true}}),
                   {.batch_size = 2});
  const tensor_tuple first(sparse_vector({2}, {7}, 3));
  const tensor_tuple second(sparse_vector({0, 4}, {8, 9}, 5));
  CHECK(co_await b.push(first));
  CHECK(co_await b.push(second));
  const auto batch = co_await b.next();
  const leat::sparse_tensor all = batch->sparse(0);
  CHECK(all.dense_shape == vector_of({2, 5}));
  const tensor indices = tensor::of<std::int64_t>({3, 2}, {0, 2, 1, 0, 1, 4});
  CHECK(all.indices == indices);
  CHECK(all.values == vector_of({7, 8, 9}));
}

}  // namespace tensor_batcher_cases_test
