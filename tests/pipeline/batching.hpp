#pragma once

// Elements and sources for the tests of tensor batchers.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <catch2/catch.hpp>

#include "leat/async/this_task.hpp"
#include "leat/coordination/coordinator.hpp"
#include "leat/input/tensor_batcher.hpp"
#include "leat/tensor/batch_spec.hpp"
#include "support/refusal.hpp"

namespace batching {

using leat::batch_spec;
using leat::column_batch;
using leat::dtype;
using leat::task;
using leat::tensor;
using leat::tensor_tuple;

constexpr std::int64_t any = leat::unknown_dimension;
using numbers = std::vector<std::int64_t>;
using element = std::optional<tensor_tuple>;
using batches = std::vector<column_batch>;

inline tensor number(std::int64_t value) { return tensor::scalar(value); }
inline tensor vector_of(const numbers& values) {
  return tensor::of<std::int64_t>({static_cast<std::int64_t>(values.size())}, values);
}

inline batch_spec number_spec() { return batch_spec({{.type = dtype::int64, .shape = {}}}); }
inline batch_spec number_and_text() {
  return batch_spec({{.type = dtype::int64, .shape = {}}, {.type = dtype::string, .shape = {}}});
}
inline tensor_tuple one(std::int64_t value) { return tensor_tuple(number(value)); }
inline tensor_tuple pair(std::int64_t value, std::string_view text) {
  return tensor_tuple(number(value), tensor::scalar(text));
}

// A sparse vector, as its three components.
inline std::vector<tensor> sparse_vector(const numbers& at, const numbers& values,
                                         std::int64_t size) {
  return {tensor::of<std::int64_t>({static_cast<std::int64_t>(at.size()), 1}, at),
          vector_of(values), vector_of({size})};
}

// Returns make(first), make(first + 1), ... below the limit. Lets other tasks run before each one.
template <class Make>
struct counter {
  std::int64_t limit;
  Make make;
  std::int64_t next = 0;

  task<std::optional<decltype(std::declval<Make&>()(std::int64_t{}))>> operator()() {
    co_await leat::this_task::yield();
    if (next == limit) co_return std::nullopt;
    co_return make(next++);
  }
};
template <class Make>
counter<Make> count_to(std::int64_t limit, Make make) {
  return {limit, std::move(make)};
}

template <class Batcher>
task<batches> rest_of(Batcher& b) {
  batches all;
  while (std::optional<column_batch> batch = co_await b.next()) all.push_back(std::move(*batch));
  co_return all;
}

// Runs the sources to their end.
template <class Batcher>
task<batches> batches_of(Batcher& b) {
  leat::coordinator coord;
  b.start(coord);
  batches all = co_await rest_of(b);
  co_await coord.join();
  co_return all;
}

// Returns the message of an operation's failure without the text of its code, or nothing. Checks
// the code if one is passed.
template <class Operation>
task<std::string> own_message_of(Operation operation, std::optional<leat::errc> expected = {}) {
  std::string message;
  try {
    static_cast<void>(co_await std::move(operation));
  } catch (const leat::failure& e) {
    if (expected) CHECK(e.code() == *expected);
    message = leat_test::without_code_message(e);
  }
  co_return message;
}

// Sources for joined batchers: "a" with different numbers, and "b" with one number.
inline tensor_tuple as(std::int64_t x) { return pair(x, "a"); }
inline tensor_tuple bs(std::int64_t) { return pair(99, "b"); }

// The values of a column of numbers, by batch and in total.
inline std::vector<numbers> columns_of(const batches& all, std::size_t column = 0) {
  std::vector<numbers> out;
  for (const column_batch& b : all) {
    const auto values = b[column].values<std::int64_t>();
    out.emplace_back(values.begin(), values.end());
  }
  return out;
}
inline numbers values_of(const batches& all, std::size_t column = 0) {
  numbers out;
  for (const numbers& n : columns_of(all, column)) out.insert(out.end(), n.begin(), n.end());
  return out;
}
inline std::vector<std::size_t> rows_of(const batches& all) {
  std::vector<std::size_t> out;
  for (const column_batch& b : all) out.push_back(b.rows());
  return out;
}
inline numbers from_to(std::int64_t first, std::int64_t end) {
  numbers out;
  for (; first < end; ++first) out.push_back(first);
  return out;
}
inline std::map<std::int64_t, int> counted(const numbers& values) {
  std::map<std::int64_t, int> out;
  for (const std::int64_t v : values) ++out[v];
  return out;
}

}  // namespace batching
