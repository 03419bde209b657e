#include "leat/tensor/arrow.hpp"

#include <cstring>
#include <sstream>
#include <type_traits>

#include "leat/tensor/batch_spec.hpp"
#include "tensor/plain_test.hpp"

using leat::arrow_array;
using leat::arrow_schema;
using leat::dtype;
using leat::tensor;
using leat::tensor_tuple;

// As the specification has them, on machines of 64 bits.
static_assert(std::is_standard_layout_v<arrow_schema> && sizeof(arrow_schema) == 72);
static_assert(std::is_standard_layout_v<arrow_array> && sizeof(arrow_array) == 80);
static_assert(offsetof(arrow_schema, release) == 56 && offsetof(arrow_array, release) == 64);

namespace arrow_test {

// A batch as the other side has it: it releases both.
struct imported {
  explicit imported(auto batch) { leat::to_arrow(std::move(batch), schema, array); }
  imported(const imported&) = delete;
  ~imported() {
    if (schema.release) schema.release(&schema);
    if (array.release) array.release(&array);
  }
  arrow_schema schema;
  arrow_array array;
};

template <class T>
std::vector<T> buffer(const arrow_array& a, std::int64_t index, std::int64_t count) {
  const auto* const values = static_cast<const T*>(a.buffers[index]);
  return {values, values + count};
}

// The formats of a schema and its children, in one line.
std::string formats(const arrow_schema& s) {
  std::string out = s.format;
  if (s.n_children == 0) return out;
  out += '(';
  for (std::int64_t i = 0; i < s.n_children; ++i) {
    const arrow_schema& child = *s.children[i];
    out += (i > 0 ? " " : "") + std::string(child.name) + ":" + formats(child);
  }
  return out + ')';
}

TEST_CASE("to_arrow: exports numbers and strings without a copy") {
  const tensor numbers = tensor::of<std::int32_t>({3}, {1, 2, 3});
  const tensor texts = tensor::of({3}, {"a", "", "leat"});
  {
    const imported out(tensor_tuple::named({{"n", numbers}, {"t", texts}}));
    CHECK(formats(out.schema) == "+s(n:i t:Z)");
    CHECK(out.array.length == 3);
    REQUIRE(out.array.n_children == 2);
    CHECK(out.array.n_buffers == 1);
    CHECK(out.array.buffers[0] == nullptr);
    const arrow_array& n = *out.array.children[0];
    CHECK(n.length == 3);
    CHECK(n.null_count == 0);
    CHECK(n.n_buffers == 2);
    CHECK(n.buffers[0] == nullptr);
    CHECK(n.buffers[1] == numbers.values<std::int32_t>().data());
    const arrow_array& t = *out.array.children[1];
    CHECK(t.n_buffers == 3);
    CHECK(t.buffers[1] == texts.strings().offsets().data());
    CHECK(t.buffers[2] == texts.strings().bytes().data());
    CHECK(numbers.is_shared());
  }
  CHECK_FALSE(numbers.is_shared());
  CHECK_FALSE(texts.is_shared());
}

TEST_CASE("to_arrow: every dtype") {
  std::istringstream formats_of_types("b C c S s I i L l e w:2 f g +w:2(item:f) +w:2(item:g) Z");
  for (int i = 0; i <= static_cast<int>(dtype::string); ++i) {
    const imported out(tensor_tuple(tensor(static_cast<dtype>(i), {2})));
    std::string expected;
    formats_of_types >> expected;
    CHECK(formats(out.schema) == "+s(0:" + expected + ")");
  }
  const leat::complex64 z[] = {{1, 2}, {3, 4}};
  const imported out(tensor_tuple(tensor::of<leat::complex64>({2}, z)));
  const arrow_array& floats = *out.array.children[0]->children[0];
  CHECK(floats.length == 4);
  CHECK(buffer<float>(floats, 1, 4) == std::vector<float>{1, 2, 3, 4});
}

TEST_CASE("to_arrow: booleans become bits") {
  const imported out(tensor_tuple(
      tensor::of<bool>({10}, {true, false, true, true, false, false, false, false, false, true})));
  const arrow_array& bits = *out.array.children[0];
  CHECK(bits.length == 10);
  CHECK(buffer<std::uint8_t>(bits, 1, 2) == std::vector<std::uint8_t>{0b1101, 0b10});
}

TEST_CASE("to_arrow: further dimensions are lists in lists") {
  tensor t(dtype::int64, {2, 3, 4});
  t.mutable_values<std::int64_t>()[23] = 7;
  const imported out((tensor_tuple(t)));
  CHECK(formats(out.schema) == "+s(0:+w:3(item:+w:4(item:l)))");
  const arrow_array& three = *out.array.children[0];
  CHECK(three.length == 2);
  CHECK(three.n_buffers == 1);
  const arrow_array& four = *three.children[0];
  CHECK(four.length == 6);
  CHECK(four.children[0]->length == 24);
  CHECK(buffer<std::int64_t>(*four.children[0], 1, 24)[23] == 7);
}

TEST_CASE("to_arrow: sparse columns are a list for each row") {
  const leat::batch_spec spec(
      {{.type = dtype::float32, .shape = {leat::unknown_dimension}, .sparse = true},
       {.type = dtype::int64, .shape = {}}});
  const auto element = [](std::vector<std::int64_t> at, std::vector<float> values) {
    const auto count = static_cast<std::int64_t>(at.size());
    return tensor_tuple(tensor::of<std::int64_t>({count, 1}, at),
                        tensor::of<float>({count}, values), tensor::of<std::int64_t>({1}, {5}),
                        tensor::scalar(count));
  };
  const std::vector<tensor_tuple> rows{element({1, 3}, {1, 2}), element({}, {}), element({4}, {3})};
  const imported out(spec.stack(rows));
  CHECK(formats(out.schema) == "+s(0:+L(item:+s(index:+w:2(item:l) value:f)) 1:l)");
  const arrow_array& lists = *out.array.children[0];
  CHECK(lists.length == 3);
  CHECK(buffer<std::int64_t>(lists, 1, 4) == std::vector<std::int64_t>{0, 2, 2, 3});
  const arrow_array& items = *lists.children[0];
  CHECK(items.length == 3);
  CHECK(buffer<std::int64_t>(*items.children[0]->children[0], 1, 6) ==
        std::vector<std::int64_t>{0, 1, 0, 3, 2, 4});
  CHECK(buffer<float>(*items.children[1], 1, 3) == std::vector<float>{1, 2, 3});

  const char* metadata = out.schema.children[0]->metadata;
  const auto number = [&] {
    std::int32_t n = 0;
    std::memcpy(&n, metadata, sizeof n);
    metadata += sizeof n;
    return n;
  };
  const auto text = [&] {
    const auto size = static_cast<std::size_t>(number());
    const std::string_view s(metadata, size);
    metadata += size;
    return s;
  };
  CHECK(number() == 1);
  CHECK(text() == "leat.dense_shape");
  CHECK(text() == "[3,5]");
}

TEST_CASE("to_arrow: columns without a row") {
  const imported out(tensor_tuple(tensor(dtype::string, {0}), tensor(dtype::boolean, {0}),
                                  tensor(dtype::float32, {0, 3}), tensor(dtype::float32, {0, 0})));
  CHECK(out.array.length == 0);
  // Also of no string there is an offset.
  CHECK(buffer<std::int64_t>(*out.array.children[0], 1, 1) == std::vector<std::int64_t>{0});
  CHECK(formats(out.schema) == "+s(0:Z 1:b 2:+w:3(item:f) 3:+w:0(item:f))");
}

TEST_CASE("to_arrow: a child may be moved out, and released on its own") {
  const tensor kept = tensor::of<std::int32_t>({2}, {1, 2});
  const tensor other = tensor::of<std::int32_t>({2}, {3, 4});
  arrow_schema schema;
  arrow_array array;
  leat::to_arrow(tensor_tuple(kept, other), schema, array);
  // As the specification says it: copy the structure, mark the source as released.
  arrow_array child = *array.children[0];
  array.children[0]->release = nullptr;
  arrow_schema child_schema = *schema.children[0];
  schema.children[0]->release = nullptr;
  arrow_array moved = array;
  array.release = nullptr;
  moved.release(&moved);
  schema.release(&schema);
  CHECK(moved.release == nullptr);
  CHECK(schema.release == nullptr);
  CHECK_FALSE(other.is_shared());
  CHECK(kept.is_shared());
  CHECK(std::string_view(child_schema.format) == "i");
  CHECK(buffer<std::int32_t>(child, 1, 2) == std::vector<std::int32_t>{1, 2});
  child.release(&child);
  child_schema.release(&child_schema);
  CHECK_FALSE(kept.is_shared());
}

TEST_CASE("to_arrow: refuses tensors that are not a batch and writes nothing") {
  const auto refused = [](tensor_tuple columns) {
    arrow_schema schema;
    arrow_array array;
    const std::string said = refusal([&] { leat::to_arrow(columns, schema, array); });
    if (schema.release || array.release) return std::string("something was written");
    for (const tensor& t : columns) CHECK_FALSE(t.is_shared());
    return said;
  };
  CHECK(contains(refused(tensor_tuple()), "Arrow: batch has no columns"));
  CHECK(contains(refused(tensor_tuple(tensor::scalar(1))), "column '0' is a scalar"));
  CHECK(contains(refused(tensor_tuple(tensor(dtype::int8, {2}), tensor(dtype::int8, {3}))),
                 "column '1' has 3 rows, the other columns have 2"));
  const std::int64_t many = std::int64_t{1} << 31;
  CHECK(contains(refused(tensor_tuple(tensor(dtype::int8, {0, many}))), "values exceeds 2^31 - 1"));
  const std::int64_t most = std::int64_t{1} << 40;
  CHECK(contains(refused(tensor_tuple(tensor(dtype::int8, {most, most, 0}))), "64 bits"));
}

}  // namespace arrow_test
