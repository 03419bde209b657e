#include "leat/input/in_memory_source.hpp"

#include "pipeline/batching.hpp"
#include "support/leat_test.hpp"

namespace in_memory_source_test {

using namespace batching;
using leat::in_memory_source;

tensor_tuple columns() {
  return tensor_tuple(vector_of(from_to(0, 3)), tensor::of({3}, {"a", "b", "c"}));
}

LEAT_TEST("in_memory_source: returns the rows of each epoch, then the end permanently") {
  in_memory_source source(number_and_text(), columns(), 2);
  numbers seen;
  while (auto row = co_await source()) {
    const auto x = (*row)[0].value<std::int64_t>();
    CHECK((*row)[1].strings()[0] == std::string(1, static_cast<char>('a' + x)));
    seen.push_back(x);
  }
  CHECK(seen == numbers{0, 1, 2, 0, 1, 2});
  const element again = co_await source();
  CHECK_FALSE(again);
}

LEAT_TEST("in_memory_source: repeats without a limit, and rows share their values") {
  in_memory_source source(number_spec(), tensor_tuple(vector_of({7})), std::nullopt);
  element first = co_await source();
  for (int i = 0; i < 100; ++i) {
    const element row = co_await source();
    REQUIRE((*row)[0].values<std::int64_t>().data() == (*first)[0].values<std::int64_t>().data());
  }
}

LEAT_TEST("in_memory_source: into a batcher, from several tasks") {
  const batch_spec spec({{.type = dtype::int64, .shape = {}, .name = "x"},
                         {.type = dtype::int64, .shape = {4}, .name = "s", .sparse = true}});
  const tensor_tuple table =
      tensor_tuple::named({{"x", vector_of({1, 2})},
                           {"s/indices", tensor::of<std::int64_t>({2, 2}, {0, 3, 1, 1})},
                           {"s/values", vector_of({10, 20})},
                           {"s/dense_shape", vector_of({2, 4})}});
  for (const std::size_t tasks : {1U, 3U}) {
    leat::tensor_batcher b(spec, {.batch_size = 4});
    b.add(in_memory_source(spec, table, 4), {.tasks = tasks});
    const batches all = co_await batches_of(b);
    REQUIRE(rows_of(all) == std::vector<std::size_t>{4, 4});
    CHECK(values_of(all, 1) == numbers{1, 2, 1, 2, 1, 2, 1, 2});
    CHECK(all[1].sparse("s").values == vector_of({10, 20, 10, 20}));
  }
}

TEST_CASE("in_memory_source: refuses invalid columns and epochs at construction") {
  const auto refused = [](tensor_tuple table, std::optional<std::uint64_t> epochs = 1) {
    return refusal(
        [&] { return in_memory_source(number_and_text(), std::move(table), epochs).rows(); });
  };
  CHECK(refused(columns()).empty());
  CHECK(contains(refused(tensor_tuple(vector_of({1, 2}), tensor(dtype::string, {3}))),
                 "in_memory_source: column 0 has 2 rows"));
  CHECK(contains(refused(tensor_tuple(vector_of({1}))), "element has 1 components"));
  CHECK(contains(refused(tensor_tuple(vector_of(numbers()), tensor(dtype::string, {0}))),
                 "columns have no rows"));
  CHECK(contains(refused(columns(), 0), "num_epochs is 0"));
}

}  // namespace in_memory_source_test
