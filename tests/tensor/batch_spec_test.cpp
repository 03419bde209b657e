#include "leat/tensor/batch_spec.hpp"

#include "tensor/plain_test.hpp"

using leat::batch_spec;
using leat::column_batch;
using leat::dtype;
using leat::tensor;
using leat::tensor_tuple;

namespace batch_spec_test {

constexpr std::int64_t any = leat::unknown_dimension;
using numbers = std::vector<std::int64_t>;

tensor vector_of(const numbers& values) {
  return tensor::of<std::int64_t>({static_cast<std::int64_t>(values.size())}, values);
}

// A label, and words of which most are not there.
batch_spec labels_and_words() {
  return batch_spec({{.type = dtype::string, .shape = {any}, .name = "words", .sparse = true},
                     {.type = dtype::int64, .shape = {}, .name = "label"}});
}
tensor_tuple sample(const tensor& indices, const tensor& values, const tensor& dense_shape) {
  return tensor_tuple::named({{"words/dense_shape", dense_shape},
                              {"label", tensor::scalar(std::int64_t{1})},
                              {"words/values", values},
                              {"words/indices", indices}});
}

std::string wrong_element(const tensor& indices, const tensor& values, const tensor& dense_shape) {
  return refusal([&] {
    tensor_tuple element = sample(indices, values, dense_shape);
    labels_and_words().check(element, "x");
  });
}

std::string wrong_rows(tensor_tuple batch) {
  return refusal([&] { return labels_and_words().rows(std::move(batch), {}, "x").size(); });
}

// Sparse strings [rows, 4] and dense numbers [rows, 2].
tensor_tuple random_batch(leat::random_engine& random, std::int64_t rows) {
  numbers indices;
  std::vector<std::string> values;
  for (std::int64_t row = 0; row < rows; ++row) {
    for (std::int64_t at = 0; at < 4; ++at) {
      if (random.uniform_below(2) == 0) continue;
      indices.insert(indices.end(), {row, at});
      values.emplace_back(random.uniform_below(20), 'x');
    }
  }
  const auto count = static_cast<std::int64_t>(values.size());
  tensor dense(dtype::int32, {rows, 2});
  for (int& v : dense.mutable_values<int>()) v = static_cast<int>(random.uniform_below(100));
  return tensor_tuple(dense, tensor::of<std::int64_t>({count, 2}, indices),
                      tensor::of({count}, std::span<const std::string>(values)),
                      vector_of({rows, 4}));
}

TEST_CASE("batch_spec: sorts named columns and stores a sparse column as three components") {
  const batch_spec spec = labels_and_words();
  CHECK(spec.count() == 2);
  CHECK(spec[0].name == "label");
  CHECK(spec.has_names());
  const leat::element_spec expected(
      {{.type = dtype::int64, .shape = {}, .name = "label"},
       {.type = dtype::int64, .shape = {any, 1}, .name = "words/indices"},
       {.type = dtype::string, .shape = {any}, .name = "words/values"},
       {.type = dtype::int64, .shape = {1}, .name = "words/dense_shape"}});
  CHECK(spec.elements() == expected);
  const batch_spec of_elements(leat::element_spec({{.type = dtype::int8, .shape = {3}}}));
  CHECK(of_elements == batch_spec({{.type = dtype::int8, .shape = {3}}}));
}

TEST_CASE("batch_spec: checks an element") {
  const tensor one_index = tensor::of<std::int64_t>({1, 1}, {2});
  const tensor word = tensor::of({1}, {"leat"});
  CHECK(wrong_element(one_index, word, vector_of({3})).empty());
  CHECK(contains(wrong_element(one_index, word, vector_of({2})),
                 "x: sparse column 'words': index [2] is outside dense_shape [2]"));
  CHECK(contains(wrong_element(one_index, tensor::of({2}, {"a", "b"}), vector_of({3})),
                 "1 indices, but 2 values"));
  CHECK(contains(wrong_element(one_index, word, vector_of({-1})),
                 "dense_shape is [-1], must be [?]"));
  CHECK(contains(wrong_element(one_index, word, vector_of({3, 3})), "Expected [1], got [2]"));
  CHECK(contains(wrong_element(one_index, vector_of({1}), vector_of({3})), "Type mismatch"));
  const batch_spec known({{.type = dtype::string, .shape = {4}, .sparse = true}});
  tensor_tuple element(one_index, word, vector_of({3}));
  CHECK_REFUSED("sparse column 0: dense_shape is [3], must be [4]", known.check(element));
}

TEST_CASE("batch_spec: checks a batch") {
  const auto batch = [](numbers indices, std::int64_t rows, std::int64_t labels) {
    const auto count = static_cast<std::int64_t>(indices.size() / 2);
    return tensor_tuple::named({{"label", tensor(dtype::int64, {labels})},
                                {"words/indices", tensor::of<std::int64_t>({count, 2}, indices)},
                                {"words/values", tensor(dtype::string, {count})},
                                {"words/dense_shape", vector_of({rows, 3})}});
  };
  CHECK(wrong_rows(batch({0, 2, 1, 0}, 2, 2)).empty());
  CHECK(contains(wrong_rows(batch({0, 2, 1, 0}, 2, 3)),
                 "x: column 'label' has 3 rows, column "
                 "'words' has 2: all columns of a batch must have the same number of rows"));
  CHECK(contains(wrong_rows(batch({1, 0, 0, 2}, 2, 2)),
                 "index [0,2] follows an index of row 1: sort the indices by row"));
  CHECK(contains(wrong_rows(batch({0, 2, 2, 0}, 2, 2)), "index [2,0] is outside"));
  const bool keep[] = {true};
  CHECK_REFUSED("keep has 1 values for 2 rows: pass one value per row",
                labels_and_words().rows(batch({}, 2, 2), std::span<const bool>(keep)).size());
}

TEST_CASE("batch_spec: stacking the rows of a batch restores the batch") {
  const batch_spec spec({{.type = dtype::int32, .shape = {2}},
                         {.type = dtype::string, .shape = {any}, .sparse = true}});
  leat::random_engine random(1);
  for (std::int64_t rows = 0; rows < 40; ++rows) {
    const tensor_tuple batch = random_batch(random, rows);
    std::vector<tensor_tuple> elements = spec.rows(batch);
    REQUIRE(elements.size() == static_cast<std::size_t>(rows));
    for (tensor_tuple& e : elements) spec.check(e);
    const column_batch again = spec.stack(elements);
    CHECK(again.rows() == static_cast<std::size_t>(rows));
    if (rows > 0) CHECK(again.components() == batch);

    // Every second row: what is left out does not matter to the others.
    std::vector<char> wanted;
    std::vector<tensor_tuple> some;
    for (std::size_t i = 0; i < elements.size(); ++i) {
      wanted.push_back(static_cast<char>(i % 2));
      if (i % 2 == 1) some.push_back(elements[i]);
    }
    const std::span<const bool> keep(reinterpret_cast<const bool*>(wanted.data()), wanted.size());
    CHECK(spec.rows(batch, keep) == some);
  }
}

TEST_CASE("batch_spec: elements that were not checked cannot be stacked") {
  const batch_spec spec({{.type = dtype::int64, .shape = {any}, .sparse = true}});
  const auto refused = [&](tensor_tuple element) {
    return refusal([&] { return spec.stack(std::span<const tensor_tuple>(&element, 1)).rows(); });
  };
  const tensor index = tensor::of<std::int64_t>({1, 1}, {0});
  CHECK(refused(tensor_tuple(index, vector_of({1}), vector_of({1}))).empty());
  CHECK(contains(refused(tensor_tuple(index, vector_of({1, 2}), vector_of({1}))),
                 "does not match the spec: sparse int64 [?]"));
  CHECK(contains(refused(tensor_tuple(index, vector_of({1}))), "does not match"));
  CHECK(contains(refused(tensor_tuple(vector_of({1}), vector_of({1}), vector_of({1}))), "match"));
}

TEST_CASE("column_batch: dense and sparse columns, by index and by name") {
  const batch_spec spec = labels_and_words();
  tensor_tuple element =
      sample(tensor::of<std::int64_t>({1, 1}, {2}), tensor::of({1}, {"leat"}), vector_of({3}));
  spec.check(element);
  column_batch batch = spec.stack(std::span<const tensor_tuple>(&element, 1));
  CHECK(batch.count() == 2);
  CHECK(batch["label"] == vector_of({1}));
  CHECK(batch.is_sparse(1));
  CHECK(batch.sparse("words").dense_shape == vector_of({1, 3}));
  CHECK_REFUSED("column 'words' is sparse: use sparse() instead of []", batch["words"].count());
  CHECK_REFUSED("column 'label' is dense", batch.sparse("label").values.count());
  CHECK_FAILS(errc::not_found, "column 'word' not found: the columns are 'label', 'words'",
              batch["word"]);
  // Taken over it shares nothing with anybody.
  const column_batch copy = batch;
  CHECK(copy == batch);
  CHECK(batch["label"].is_shared());
  batch = column_batch();
  const tensor_tuple all = column_batch(copy).take();
  CHECK(all["words/values"] == tensor::of({1}, {"leat"}));
  CHECK(batch.empty());
  CHECK(batch.rows() == 0);
}

}  // namespace batch_spec_test
