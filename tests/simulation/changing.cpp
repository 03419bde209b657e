// Files that other tasks truncate and replace while they are read, in several epochs. Each reader
// returns whole lines and records from the beginning of the file, and then the end or an error that
// names the file.

#include "simulation/steps.hpp"
#include "support/records/record_files.hpp"

namespace simulation {
namespace {

using leat::errc;
using leat::task;
using leat::sim::world;
using leat_test::texts;

// Reads the rest of a file. Returns false if the file is damaged.
task<bool> read_one(world& w, std::string path, bool as_records, texts& seen) {
  const leat::read_options options{.chunk_size = 1 + below(w, 300), .depth = 1 + below(w, 4)};
  std::string what;
  try {
    if (as_records) {
      co_await leat_test::read_records_into(seen, path, {.read = options});
    } else {
      co_await leat_test::read_lines_into(seen, path, {.read = options});
    }
    co_return true;
  } catch (const leat::failure& e) {
    require(e.code() == errc::data_loss, std::string("error is not data_loss: ") + e.what());
    what = e.what();
  }
  require(what.find(path) != std::string::npos, "error does not name its file: " + what);
  co_return false;
}

task<> epochs(world& w, std::string path, bool as_records) {
  texts expected(1 + below(w, 30));
  for (std::string& line : expected) {
    line.assign(1 + below(w, 60), static_cast<char>('a' + below(w, 26)));
  }
  if (as_records) {
    co_await leat_test::write_records(path, expected, 500);
  } else {
    std::string text;
    for (const std::string& line : expected) text += line + "\n";
    w.files().write_file(path, text);
  }
  for (int epoch = 0; epoch < 4; ++epoch) {
    texts seen;
    const bool whole = co_await read_one(w, path, as_records, seen);
    // After a cut between two epochs, the last line may be a part of a line, which readers cannot
    // detect.
    if (whole && !as_records && !seen.empty() && seen.size() <= expected.size()) {
      const std::string& last = expected[seen.size() - 1];
      require(last.starts_with(seen.back()), path + ": last line is not in the file");
      seen.pop_back();
    }
    require(
        seen.size() <= expected.size() && std::equal(seen.begin(), seen.end(), expected.begin()),
        path + ": lines read are not a prefix of the file");
  }
}

}  // namespace

task<> changing(world& w) {
  w.files().make_directory("/data");
  co_await leat::with_task_group([&w](leat::task_group& group) -> task<> {
    for (std::size_t i = 0; i < 2; ++i) {
      group.spawn_on(w.thread(i % w.threads()),
                     epochs(w, "/data/" + std::to_string(i), below(w, 2) == 0));
    }
    co_return;
  });
}

}  // namespace simulation
