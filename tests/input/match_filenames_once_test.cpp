#include "leat/input/match_filenames_once.hpp"

#include "leat/sim/world/world.hpp"
#include "support/leat_test.hpp"
#include "support/temp_dir.hpp"

namespace match_filenames_once_test {

using leat::match_filenames_once;
using leat::sim::world;
using paths = std::vector<std::string>;

paths found_by(const match_filenames_once& files) { return leat::block_on(files()); }

task<> look(match_filenames_once files, paths& found) { found = co_await files(); }

struct three : temp_dir {
  three() {
    for (const char* n : {"2", "0", "1"}) write(std::string("match_filenames.") + n, "");
  }
};

TEST_CASE("match_filenames_once: returns the matching paths, sorted") {
  const three t;
  CHECK(found_by(match_filenames_once(t / "match_filenames.?")) ==
        paths{t / "match_filenames.0", t / "match_filenames.1", t / "match_filenames.2"});
  CHECK(found_by(match_filenames_once(t / "match_filenames.1")) == paths{t / "match_filenames.1"});
  CHECK(found_by(match_filenames_once(paths{t / "*.2", t / "*.0"})) ==
        paths{t / "match_filenames.0", t / "match_filenames.2"});
}

TEST_CASE("match_filenames_once: later files do not appear, also in copies") {
  const temp_dir t;
  t.write("a.txt", "");
  const match_filenames_once files(t / "*.txt");
  const match_filenames_once copy = files;
  CHECK(found_by(files) == paths{t / "a.txt"});
  t.write("b.txt", "");
  CHECK(found_by(files) == paths{t / "a.txt"});
  CHECK(found_by(copy) == paths{t / "a.txt"});
}

TEST_CASE("match_filenames_once: searches at the first call, not at construction") {
  const temp_dir t;
  const match_filenames_once files(t / "*.txt");
  t.write("a.txt", "");
  CHECK(found_by(files) == paths{t / "a.txt"});
}

TEST_CASE("match_filenames_once: concurrent calls search once") {
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    world w(seed, {.threads = 3});
    w.run([](world& here) -> task<> {
      here.files().write_file("/in/a", "");
      const match_filenames_once files("/in/*");
      std::vector<paths> found(6);
      task_group group;
      const std::uint64_t before = here.files().calls();
      for (std::size_t i = 0; i < found.size(); ++i) {
        group.spawn_on(here.thread(i % 3), look(files, found[i]));
      }
      co_await group.join();
      const std::uint64_t calls = here.files().calls() - before;
      here.files().write_file("/in/b", "");
      for (const paths& f : found) REQUIRE((f == paths{"/in/a"}));
      paths again;
      co_await look(files, again);
      REQUIRE((again == paths{"/in/a"}));
      REQUIRE(here.files().calls() == before + calls);
    });
  }
}

TEST_CASE("match_filenames_once: repeats a search that failed or was cancelled") {
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    world w(seed);
    w.check_frames();
    w.run([](world& here) -> task<> {
      const match_filenames_once files("/in/*");
      const std::error_code said = co_await code_of(files());
      REQUIRE((said == errc::not_found));
      here.files().write_file("/in/a", "");
      paths cancelled;
      paths waits;
      task_group stopped;
      task_group other;
      stopped.spawn(look(files, cancelled));
      other.spawn(look(files, waits));
      co_await leat::sleep_for(1us * here.random().uniform_below(30));
      stopped.request_stop();
      co_await stopped.join();
      co_await other.join();
      REQUIRE((waits == paths{"/in/a"}));
    });
  }
}

}  // namespace match_filenames_once_test
