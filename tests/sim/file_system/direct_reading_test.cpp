// Reads that bypass the page cache of a simulated device, which refuses unaligned reads.

#include "leat/io/stream/detail/read_ahead.hpp"
#include "leat/sim.hpp"
#include "sim/file_system/faulty_runs.hpp"

namespace direct_reading_test {

using leat::sim::world;
using leat_test::below;
using leat_test::passing;
using leat_test::texts;

// Lines of very different lengths. Some of them span several chunks.
texts random_lines(world& w) {
  texts all(below(w, 40));
  for (std::string& line : all) {
    const std::size_t size = below(w, below(w, 4) == 0 ? 30'000 : 500);
    line.assign(size, static_cast<char>('a' + below(w, 26)));
  }
  return all;
}

leat::read_options random_options(world& w) {
  return {.chunk_size = 1 + below(w, 20'000), .depth = 1 + below(w, 4), .direct = true};
}

// Writes a file and reads it.
task<> read_random_lines(world& here) {
  const texts expected = random_lines(here);
  here.files().write_file("/a", leat_test::joined(expected));
  const texts seen = co_await leat_test::read_lines("/a", {.read = random_options(here)});
  REQUIRE((seen == expected));
}

TEST_CASE("read_ahead: reads equal bytes past the page cache, aligned") {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    world w(seed, {.files = {.faults = passing}});
    w.run(read_random_lines);
  }
}

TEST_CASE("read_ahead: reads through the page cache if direct reads are not supported") {
  // Direct reads are refused when the file is opened, or by the first read.
  for (const std::size_t alignment : {std::size_t{0}, std::size_t{1} << 20}) {
    for (std::uint64_t seed = 0; seed < 100; ++seed) {
      world w(seed, {.files = {.faults = passing, .direct_unit = alignment}});
      w.run(read_random_lines);
    }
  }
}

TEST_CASE("read_ahead: reports whether it reads past the page cache") {
  for (const std::size_t alignment : {std::size_t{0}, std::size_t{512}, std::size_t{1} << 20}) {
    world w(1, {.files = {.direct_unit = alignment}});
    w.files().write_file("/a", std::string(100'000, 'x'));
    w.run([alignment](world&) -> task<> {
      leat::file f = co_await leat::file::open("/a");
      leat::detail::read_ahead window(f, {.chunk_size = 10'000, .direct = true}, 0);
      CHECK(window.is_direct() == (alignment != 0));
      std::size_t bytes = 0;
      for (bool more = true; more;) {
        more = co_await window.advance(0, std::source_location::current());
        bytes += more ? window.view().size() : 0;
      }
      CHECK(bytes == 100'000);
      CHECK(window.is_direct() == (alignment == 512));
    });
  }
}

TEST_CASE("read_ahead: resumes past the page cache from any offset") {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    world w(seed, {.files = {.faults = passing}});
    w.run([](world& here) -> task<> {
      std::string text(1 + static_cast<std::size_t>(here.random().uniform_below(60'000)), ' ');
      for (char& c : text) c = static_cast<char>(here.random().uniform_below(256));
      here.files().write_file("/a", text);
      leat::file f = co_await leat::file::open("/a");
      leat::detail::read_ahead window(f, random_options(here), 0);
      for (int i = 0; i < 5; ++i) {
        const std::size_t from =
            static_cast<std::size_t>(here.random().uniform_below(text.size() + 1));
        window.seek(from);
        std::string seen;
        for (std::uint64_t parts = 1 + here.random().uniform_below(4); parts > 0; --parts) {
          if (!co_await window.advance(0, std::source_location::current())) break;
          seen += leat::as_text({window.view().data(), window.view().size()});
        }
        REQUIRE((seen == text.substr(from, seen.size())));
        REQUIRE((!seen.empty() || from == text.size()));
      }
    });
  }
}

TEST_CASE("read_ahead: a file grows or is truncated while it is read past the page cache") {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    world w(seed);
    w.files().write_file("/a", std::string(50'000, 'x'));
    w.run([](world& here) -> task<> {
      leat::file f = co_await leat::file::open("/a");
      const std::size_t size = static_cast<std::size_t>(here.random().uniform_below(100'000));
      leat::detail::read_ahead window(f, random_options(here), 0);
      here.files().truncate("/a", size);
      std::size_t bytes = 0;
      bool lost = false;
      try {
        while (co_await window.advance(0, std::source_location::current()))
          bytes += window.view().size();
      } catch (const leat::failure& e) {
        REQUIRE(e.code() == errc::data_loss);
        lost = true;
      }
      REQUIRE(lost == (size < 50'000));
      REQUIRE(bytes == std::min<std::size_t>(size, 50'000));
    });
  }
}

}  // namespace direct_reading_test
