#include "leat/pipeline/detail/held_bytes.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include <catch2/catch.hpp>

#include "leat/core/error.hpp"
#include "leat/io/tfrecord_reader.hpp"
#include "leat/pipeline/pipeline.hpp"
#include "support/refusal.hpp"

namespace held_bytes_test {

using leat::errc;
using leat::detail::held_bytes;
using leat_test::contains;
using leat_test::refusal;

constexpr std::size_t mebibyte = std::size_t{1} << 20;

TEST_CASE("held_bytes: has room as far as its limit", "[pipeline]") {
  held_bytes memory(100, "p");
  CHECK(memory.has_room(100));
  memory.add(60);
  CHECK(memory.has_room(40));
  CHECK_FALSE(memory.has_room(41));
  memory.add(60);  // a stage's one run, which it may have anyway
  CHECK_FALSE(memory.has_room(0));
  memory.add(-120);
  CHECK(memory.has_room(100));
}

TEST_CASE("held_bytes: what was refused is not needed any more", "[pipeline]") {
  held_bytes memory(100, "p");
  memory.require("a", 40);
  CHECK(contains(refusal([&] { memory.require("b", 61); }, errc::resource_exhausted),
                 "need 101 ('a' 40, 'b' 61)"));
  memory.require("c", 60);
  CHECK(contains(refusal([&] { memory.require("a", 41); }, errc::resource_exhausted),
                 "need 101 ('a' 41, 'c' 60)"));
  memory.require("a", 10);
}

TEST_CASE("held_bytes: needs without bounds are above every limit", "[pipeline]") {
  held_bytes memory(100, "p");
  memory.require("a", 1);
  CHECK(contains(refusal([&] { memory.require("b", SIZE_MAX); }, errc::resource_exhausted),
                 "need " + std::to_string(SIZE_MAX)));
}

auto records() {
  leat::file_source<leat::tfrecord_reader> source;
  source.files = {"/none"};
  return leat::read_files(std::move(source), {.memory_budget = 16 * mebibyte});
}

TEST_CASE("memory_budget: a buffer that was refused leaves room for a smaller one", "[pipeline]") {
  auto p = records();
  for (const std::size_t capacity : {std::size_t{1} << 24, SIZE_MAX / 16 + 2, SIZE_MAX}) {
    CHECK(contains(refusal([&] { static_cast<void>(std::move(p).shuffle({.capacity = capacity})); },
                           errc::resource_exhausted),
                   "'shuffle' "));
  }
  CHECK_NOTHROW(static_cast<void>(std::move(p).shuffle({.capacity = 10})));
}

}  // namespace held_bytes_test
