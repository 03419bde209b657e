#pragma once

#include <functional>
#include <sstream>

#include "leat/input/filename_queue_reader.hpp"
#include "leat/io/reader/identity_reader.hpp"
#include "leat/io/reader/line_reader.hpp"
#include "leat/io/reader/tfrecord_reader.hpp"
#include "leat/io/reader/whole_file_reader.hpp"
#include "leat/sim/world/world.hpp"
#include "support/leat_test.hpp"
#include "support/records/record_bytes.hpp"

// Common parts of the tests of filename_queue_reader.
namespace filename_queue_reader_test {

using leat::keyed_record;
using leat::sim::world;
using names = std::vector<std::string>;
using names_queue = leat::fifo_queue<std::string>;
using lines = leat::filename_queue_reader<leat::line_reader>;
using identities = leat::filename_queue_reader<leat::identity_reader>;
using wholes = leat::filename_queue_reader<leat::whole_file_reader>;
using tfrecords = leat::filename_queue_reader<leat::tfrecord_reader>;

// Runs a body in a simulated world with some files.
inline void in_world(std::function<task<>(world&)> body, std::uint64_t seed = 1,
                     leat::sim::world_options options = {}) {
  world w(seed, options);
  w.run([&](world& here) -> task<> { co_await body(here); });
}

// A test case whose body is a coroutine in a simulated world `w`.
#define LEAT_WORLD_TEST(name) LEAT_WORLD_TEST_AS(LEAT_TEST_NAME(leat_test_body_, __LINE__), name)
#define LEAT_WORLD_TEST_AS(body, name) \
  static task<> body(world& w);        \
  TEST_CASE(name) { in_world(body); }  \
  static task<> body([[maybe_unused]] world& w)

inline std::string tfrecord_file(int records) {
  names all;
  for (int i = 0; i < records; ++i) all.push_back("record " + std::to_string(i));
  return leat_test::framed(all);
}

// Pushes names that are separated by spaces. g++ 12 does not compile lists of strings in a
// statement with a co_await.
inline task<> fill(names_queue& q, std::string all, bool close = true) {
  std::istringstream words(all);
  for (std::string name; words >> name;) co_await q.push(name);
  if (close) q.close();
}

// Writes files with these names and the same content, pushes the names, and closes the queue.
inline task<> write_and_fill(world& w, names_queue& q, std::string all, std::string content) {
  std::istringstream words(all);
  for (std::string name; words >> name;) w.files().write_file(name, content);
  co_await fill(q, std::move(all));
}

// Returns three records, of which the second is damaged.
inline std::string damaged_file() {
  std::string bytes = tfrecord_file(3);
  bytes[30] ^= 1;
  return bytes;
}

template <class Reader>
task<std::string> next_value(Reader& reader) {
  std::optional<keyed_record> r = co_await reader.read();
  co_return r ? r->value : std::string("the end");
}

template <class Reader>
task<std::string> next_key(Reader& reader) {
  std::optional<keyed_record> r = co_await reader.read();
  co_return r ? r->key : std::string("the end");
}

template <class Reader>
task<std::string> error_of_read(Reader& reader, errc expected) {
  co_return co_await message_of(reader.read(), expected);
}

}  // namespace filename_queue_reader_test
