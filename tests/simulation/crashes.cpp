// The machine crashes while a file is replaced. After the restart the file is the complete old or
// the complete new one.

#include "simulation/steps.hpp"
#include "support/records/record_files.hpp"

namespace simulation {
namespace {

using leat::task;
using leat::sim::world;
using leat_test::texts;

// Returns records that contain the version of their file.
texts version(const std::string& which, int count) {
  texts all;
  for (int i = 0; i < count; ++i) all.push_back(which + std::to_string(i));
  return all;
}

}  // namespace

task<> crashes(world& w) {
  const int count = 20 + static_cast<int>(below(w, 100));
  co_await leat_test::write_records("/a", version("old ", count), 700);
  bool published = false;
  const std::uint64_t crash_at = w.files().calls() + 1 + below(w, 10);
  w.always("the machine runs", [&w, crash_at] {
    if (w.files().calls() >= crash_at) w.files().crash();
    return true;
  });
  try {
    co_await leat_test::write_records("/a", version("new ", count), 700);
    published = true;
  } catch (const leat::failure&) {
  }
  w.clear_invariants();
  w.files().restart();
  const texts found = co_await leat_test::read_records("/a");
  require(found.size() == static_cast<std::size_t>(count), "records are missing");
  const std::string which = found.front().substr(0, 4);
  require(!published || which == "new ", "a closed file has the old content");
  require(found == version(which, count), "file mixes old and new records");
}

}  // namespace simulation
