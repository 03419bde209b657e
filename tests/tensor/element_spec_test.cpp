#include "leat/tensor/element_spec.hpp"

#include "tensor/plain_test.hpp"

using leat::dtype;
using leat::element_spec;
using leat::partial_shape;
using leat::tensor;
using leat::tensor_tuple;
using leat::unknown_dimension;

namespace element_spec_test {

const element_spec& plain() {
  static const element_spec spec({{.type = dtype::float32, .shape = {2, 2}},
                                  {.type = dtype::int32, .shape = {unknown_dimension, 3}}});
  return spec;
}

const element_spec& with_names() {
  static const element_spec spec({{.type = dtype::float32, .shape = {}, .name = "f"},
                                  {.type = dtype::int32, .shape = {}, .name = "i"}});
  return spec;
}

std::string checked(const element_spec& spec, tensor_tuple element) {
  return refusal([&] { spec.check(element, "queue 'q'"); });
}

std::string batch_checked(const element_spec& spec, tensor_tuple batch) {
  return refusal([&] { return spec.check_batch(batch); });
}

tensor zeros(dtype type, leat::shape s) { return {type, std::move(s)}; }

TEST_CASE("tensor_tuple: components by index and by name") {
  const tensor_tuple pair(tensor::scalar(1), tensor::scalar("b"));
  CHECK(pair.count() == 2);
  CHECK(pair[0].value<int>() == 1);
  CHECK_FALSE(pair.has_names());
  CHECK(pair.names().empty());
  CHECK(pair.byte_size() == pair[0].byte_size() + pair[1].byte_size());

  auto named = tensor_tuple::named({{"x", tensor::scalar(1)}, {"y", tensor::scalar("b")}});
  CHECK(named["y"].strings()[0] == "b");
  CHECK(named != pair);
  CHECK(named == tensor_tuple::named({{"x", tensor::scalar(1)}, {"y", tensor::scalar("b")}}));
  CHECK_FAILS(errc::not_found, "component 'z' not found: the components are 'x', 'y'", named["z"]);
  CHECK(tensor_tuple(std::move(named).take()) == pair);
}

TEST_CASE("tensor_tuple: a name twice or an empty one is refused") {
  CHECK_REFUSED("two components have the name 'x'",
                tensor_tuple::named({{"x", tensor::scalar(1)}, {"x", tensor::scalar(2)}}));
  CHECK_REFUSED("name all components or no component",
                tensor_tuple::named({{"", tensor::scalar(1)}}));
}

TEST_CASE("element_spec: refuses invalid specs") {
  CHECK_REFUSED("element_spec has 0 components", element_spec(std::vector<leat::component_spec>()));
  CHECK_REFUSED("name all components or no component",
                element_spec({{.name = "a"}, {.shape = {}}}));
  CHECK_REFUSED("two components have the name 'a'", element_spec({{.name = "a"}, {.name = "a"}}));
}

TEST_CASE("element_spec: an element that matches") {
  CHECK(checked(plain(), tensor_tuple(zeros(dtype::float32, {2, 2}), zeros(dtype::int32, {7, 3})))
            .empty());
}

TEST_CASE("element_spec: number, types and shapes of the components are checked") {
  CHECK(contains(checked(plain(), tensor_tuple(zeros(dtype::float32, {2, 2}))),
                 "queue 'q': element has 1 components, must have 2"));
  CHECK(contains(
      checked(plain(), tensor_tuple(zeros(dtype::float32, {2, 2}), zeros(dtype::int64, {1, 3}))),
      "queue 'q': Type mismatch in tuple component 1. Expected int32, got int64"));
  CHECK(contains(
      checked(plain(), tensor_tuple(zeros(dtype::float32, {2, 2}), zeros(dtype::int32, {3, 4}))),
      "queue 'q': Shape mismatch in tuple component 1. Expected [?,3], got [3,4]"));
  const element_spec scalar({{.type = dtype::int64, .shape = {}}});
  CHECK(contains(checked(scalar, tensor_tuple(zeros(dtype::int64, {2}))),
                 "component 0. Expected [], got [2] (must be a scalar)"));
}

TEST_CASE("element_spec: a batch has the number of elements in front") {
  tensor_tuple good(zeros(dtype::float32, {4, 2, 2}), zeros(dtype::int32, {4, 7, 3}));
  CHECK(plain().check_batch(good) == 4);
  CHECK(contains(batch_checked(plain(), tensor_tuple(zeros(dtype::float32, {2, 2, 2}),
                                                     zeros(dtype::int32, {2, 3, 4}))),
                 "Shape mismatch in tuple component 1. Expected [2,?,3], got [2,3,4]"));
  CHECK(contains(batch_checked(plain(), tensor_tuple(zeros(dtype::float32, {3, 2, 2}),
                                                     zeros(dtype::int32, {2, 3, 3}))),
                 "tuple component 1 of a batch has 2 elements, component 0 has 3"));
  CHECK(contains(batch_checked(with_names(), tensor_tuple::named({{"f", tensor::scalar(1.0F)},
                                                                  {"i", tensor::scalar(1)}})),
                 "component 0 of a batch is a scalar"));
}

TEST_CASE("element_spec: accepts named components in any order and returns the order of the spec") {
  auto element = tensor_tuple::named({{"i", tensor::scalar(5)}, {"f", tensor::scalar(1.5F)}});
  with_names().check(element);
  CHECK(element[0].value<float>() == 1.5F);
  CHECK(element[1].value<int>() == 5);
  CHECK(element["i"].value<int>() == 5);
}

TEST_CASE("element_spec: does not change an element that it refuses") {
  auto element = tensor_tuple::named({{"i", tensor::scalar(5)}, {"f", tensor::scalar(1)}});
  const tensor_tuple before = element;
  CHECK_REFUSED("component 0. Expected float32, got int32", with_names().check(element));
  CHECK(element == before);
}

TEST_CASE("element_spec: refuses names that differ from the spec") {
  const auto named = [](std::vector<std::string> names) {
    std::vector<leat::named_tensor> components;
    for (std::string& n : names) components.emplace_back(std::move(n), tensor::scalar(1));
    return tensor_tuple::named(std::move(components));
  };
  CHECK(contains(checked(with_names(), tensor_tuple(tensor::scalar(1.0F), tensor::scalar(1))),
                 "must have the names 'f', 'i', but have no names"));
  CHECK(contains(checked(with_names(), named({})), "but have no names"));
  CHECK(contains(checked(with_names(), named({"i"})), "but have 'i'"));
  CHECK(contains(checked(with_names(), named({"i", "f", "x"})), "but have 'i', 'f', 'x'"));
  CHECK(contains(checked(plain(), named({"a", "b"})), "but the spec has no names"));
}

TEST_CASE("element_spec: is_compatible_with() and generalize_specs()") {
  const auto spec = [](partial_shape s, dtype type = dtype::int32, std::string name = {}) {
    return element_spec({{.type = type, .shape = std::move(s), .name = std::move(name)}});
  };
  CHECK(spec({unknown_dimension}).is_compatible_with(spec({3})));
  CHECK_FALSE(spec({unknown_dimension}).is_compatible_with(spec({2, 2})));
  CHECK_FALSE(spec({}).is_compatible_with(spec({}, dtype::int64)));
  CHECK_FALSE(spec({}).is_compatible_with(spec({}, dtype::int32, "a")));
  CHECK(generalize_specs(spec({1, 1}), spec({1, 2})) == spec({1, unknown_dimension}));
  for (const element_spec& other : {spec({}, dtype::int64), spec({}, dtype::int32, "a"), plain()}) {
    CHECK_REFUSED("differ in the number, types", generalize_specs(spec({}), other));
  }
}

}  // namespace element_spec_test
