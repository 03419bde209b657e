#include "leat/tensor/tensor.hpp"

#include <cmath>
#include <limits>
#include <thread>

#include "tensor/plain_test.hpp"

using leat::dtype;
using leat::shape;
using leat::tensor;

namespace tensor_test {

bool aligned(const void* p) { return reinterpret_cast<std::uintptr_t>(p) % 64 == 0; }

template <class T>
std::vector<T> all(const tensor& t) {
  const auto values = t.values<T>();
  return {values.begin(), values.end()};
}

std::vector<std::string> strings(const tensor& t) {
  std::vector<std::string> out;
  for (const std::string_view s : t.strings()) out.emplace_back(s);
  return out;
}

TEST_CASE("tensor: values in a shape") {
  const auto t = tensor::of<float>({2, 3}, {1, 2, 3, 4, 5, 6});
  CHECK(t.type() == dtype::float32);
  CHECK(t.shape() == shape{2, 3});
  CHECK(t.count() == 6);
  CHECK(t.byte_size() == 24);
  CHECK(all<float>(t) == std::vector<float>{1, 2, 3, 4, 5, 6});
  CHECK(aligned(t.values<float>().data()));
  const std::vector<std::int64_t> numbers = {7, 8};
  CHECK(all<std::int64_t>(tensor::of<std::int64_t>({2}, numbers)) == numbers);
}

TEST_CASE("tensor: scalars") {
  CHECK(tensor::scalar(5).value<int>() == 5);
  CHECK(tensor::scalar(5).shape() == shape{});
  CHECK(tensor::scalar(true).value<bool>());
  CHECK(tensor::scalar("text").strings()[0] == "text");
  CHECK(tensor::scalar(leat::bfloat16{0x3F80}).type() == dtype::bfloat16);
}

TEST_CASE("tensor: construction from a type and a shape fills with zeros") {
  CHECK(all<int>(tensor(dtype::int32, {2, 2})) == std::vector<int>(4));
  CHECK(all<bool>(tensor(dtype::boolean, {3})) == std::vector<bool>(3));
  CHECK(strings(tensor(dtype::string, {2})) == std::vector<std::string>(2));
  CHECK(tensor(dtype::string, {0}).strings().empty());
  CHECK(tensor(dtype::float64, {0, 5}).values<double>().empty());
  CHECK(tensor().count() == 0);
  CHECK(tensor() == tensor(dtype::float32, {0}));
}

TEST_CASE("tensor: stores strings of any bytes consecutively") {
  using namespace std::string_literals;
  const std::vector<std::string> in = {"", "one", "with\0zero"s, ""};
  const auto t = tensor::of({2, 2}, std::span<const std::string>(in));
  CHECK(t.type() == dtype::string);
  CHECK(strings(t) == in);
  const leat::string_values s = t.strings();
  CHECK(s.size() == 4);
  CHECK(s[2] == "with\0zero"s);
  CHECK(std::vector<std::int64_t>(s.offsets().begin(), s.offsets().end()) ==
        std::vector<std::int64_t>{0, 0, 3, 12, 12});
  CHECK(s.bytes() == "onewith\0zero"s);
  CHECK(aligned(s.offsets().data()));
  CHECK(aligned(s.bytes().data()));
  CHECK(strings(tensor::of({2}, {"a", "b"})) == std::vector<std::string>{"a", "b"});
}

TEST_CASE("tensor: a copy shares the values until one of both is changed") {
  auto a = tensor::of({2}, {1, 2});
  CHECK_FALSE(a.is_shared());
  const int* const before = a.values<int>().data();
  CHECK(a.mutable_values<int>().data() == before);  // the sole owner changes in place

  const tensor b = a;
  CHECK(a.is_shared());
  CHECK(b.values<int>().data() == before);
  a.mutable_values<int>()[0] = 9;
  CHECK(all<int>(a) == std::vector<int>{9, 2});
  CHECK(all<int>(b) == std::vector<int>{1, 2});
  CHECK_FALSE(a.is_shared());
  CHECK_FALSE(b.is_shared());
  CHECK(b.values<int>().data() == before);
}

TEST_CASE("tensor: a move takes the values and shares nothing") {
  auto a = tensor::of({2}, {1, 2});
  const int* const before = a.values<int>().data();
  tensor b = std::move(a);
  CHECK(b.values<int>().data() == before);
  CHECK_FALSE(b.is_shared());
  CHECK(a.count() == 0);  // NOLINT(bugprone-use-after-move): that is the promise
  CHECK(a.values<int>().empty());
  a = b;
  CHECK(a == b);
}

TEST_CASE("tensor: values of another type are refused") {
  auto t = tensor::of({2}, {1, 2});
  CHECK_REFUSED("tensor of int32 [2] has no values of type float32", t.values<float>());
  CHECK_REFUSED("no values of type int64", t.mutable_values<std::int64_t>());
  CHECK_REFUSED("no values of type string", t.strings());
  CHECK_REFUSED("tensor of string [] has no values of type ",
                tensor::scalar("a").values<std::uint8_t>());
  CHECK_REFUSED("tensor of int32 [2] has 2 values: value() needs exactly 1", t.value<int>());
}

TEST_CASE("tensor: a shape that does not fit the values is refused") {
  CHECK_REFUSED("tensor of int32 [2,2] needs 4 values, got 3", tensor::of({2, 2}, {1, 2, 3}));
  CHECK_REFUSED("tensor of string [1] needs 1 values, got 2", tensor::of({1}, {"a", "b"}));
}

TEST_CASE("tensor: refuses a size that overflows 64 bits") {
  const std::int64_t most = std::numeric_limits<std::int64_t>::max();
  CHECK_REFUSED("more bytes than 64 bits can count", tensor(dtype::float64, {most / 4}));
  CHECK_REFUSED("more bytes than 64 bits", tensor(dtype::string, {most}));
  CHECK_REFUSED("more bytes than 64 bits", tensor(dtype::uint8, {most}));
}

TEST_CASE("tensor: equal in type, shape and bits") {
  const auto t = tensor::of<float>({2}, {0.0F, NAN});
  CHECK(t == tensor::of<float>({2}, {0.0F, NAN}));
  CHECK(t != tensor::of<float>({2}, {-0.0F, NAN}));
  CHECK(t != tensor::of<float>({1, 2}, {0.0F, NAN}));
  CHECK(tensor::scalar(1) != tensor::scalar(1U));
  CHECK(tensor::of({2}, {"ab", "c"}) == tensor::of({2}, {"ab", "c"}));
  CHECK(tensor::of({2}, {"ab", "c"}) != tensor::of({2}, {"a", "bc"}));
  CHECK(tensor(dtype::int8, {0}) == tensor(dtype::int8, {0}));
}

TEST_CASE("tensor: copies go to other threads and are destroyed there") {
  auto t = tensor::of({1000}, std::span<const int>(std::vector<int>(1000, 3)));
  std::vector<std::jthread> threads;
  std::vector<int> sums(4);
  for (int& sum : sums) {
    threads.emplace_back([copy = t, &sum]() mutable {
      for (const int x : copy.values<int>()) sum += x;
      copy.mutable_values<int>()[0] = 0;  // a copy of its own, or nobody else is left
    });
  }
  t = tensor();
  threads.clear();
  CHECK(sums == std::vector<int>(4, 3000));
}

}  // namespace tensor_test
