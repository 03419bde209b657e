// The machine stops somewhere while a file is written anew; after the restart it is the old one or
// the new one, whole.

#include "leat/core/error.hpp"
#include "leat/io/tfrecord_reader.hpp"
#include "leat/io/tfrecord_writer.hpp"
#include "simulation/scenarios.hpp"

namespace simulation {
namespace {

using leat::task;
using leat::sim::world;
using texts = std::vector<std::string>;

task<> write(std::string path, std::string what, int count) {
  auto writer = co_await leat::tfrecord_writer::open(path, {.buffer_size = 700});
  for (int i = 0; i < count; ++i) {
    const std::string record = what + std::to_string(i);
    co_await writer.write(leat::as_bytes(record));
  }
  co_await writer.close();
}

task<texts> read(std::string path) {
  auto reader = co_await leat::tfrecord_reader::open(path);
  texts all;
  leat::record_batch batch;
  while (co_await reader->read_batch(batch)) {
    for (const leat::byte_view r : batch) all.emplace_back(leat::as_text(r));
  }
  co_return all;
}

}  // namespace

task<> crashes(world& w) {
  const int count = 20 + static_cast<int>(w.random().below(100));
  co_await write("/a", "old ", count);
  bool published = false;
  const std::uint64_t crash_at = w.files().calls() + 1 + w.random().below(14);
  w.always("the machine runs", [&w, crash_at] {
    if (w.files().calls() >= crash_at) w.files().crash();
    return true;
  });
  try {
    co_await write("/a", "new ", count);
    published = true;
  } catch (const leat::failure&) {
  }
  w.unwatch();
  w.files().restart();
  const texts found = co_await read("/a");
  require(found.size() == static_cast<std::size_t>(count), "records are missing");
  const std::string which = found.front().substr(0, 4);
  require(!published || which == "new ", "a file that was closed well is the old one");
  for (int i = 0; i < count; ++i) {
    require(found[static_cast<std::size_t>(i)] == which + std::to_string(i), "a mixed file");
  }
}

}  // namespace simulation
