// Records that are read again at their positions, many close together or few far apart.

#include "leat/pipeline/source/detail/position_reader.hpp"

#include <algorithm>

#include "leat/base/random.hpp"
#include "leat/io/reader/line_reader.hpp"
#include "leat/io/reader/tfrecord_reader.hpp"
#include "leat/io/reader/whole_file_reader.hpp"
#include "leat/io/writer/tfrecord_writer.hpp"
#include "leat/sim/world/world.hpp"
#include "support/effort.hpp"
#include "support/leat_test.hpp"
#include "support/records/record_files.hpp"
#include "support/temp_dir.hpp"

namespace position_reader_test {

using leat::detail::origin;
using leat::sim::world;
using leat_test::texts;

// Of the file "/data".
struct records {
  texts all;
  std::vector<origin> places;
};

records records_of(leat::random_engine& random, std::size_t count, std::size_t most) {
  records made;
  std::uint64_t offset = 0;
  for (std::uint64_t i = 0; i < count; ++i) {
    made.places.push_back({0, offset, i, 0});
    const auto size = static_cast<std::size_t>(random.uniform_below(most + 1));
    made.all.push_back(std::to_string(i) + std::string(size, 'x'));
    offset += made.all.back().size() + 16;  // the frame of a TFRecord
  }
  return made;
}

task<> write(const records& r, leat::compression c = leat::compression::none) {
  auto writer = co_await leat::tfrecord_writer::open("/data", {.compression = c});
  for (const std::string& each : r.all) co_await writer.write(leat::as_bytes(each));
  co_await writer.close();
}

template <class Reader>
task<texts> read_again(std::vector<origin> places, typename Reader::options_type options = {}) {
  texts all;
  std::vector<origin> told;
  leat::detail::position_reader<Reader> reader("/data", std::move(options), places);
  const auto keep = [&](typename Reader::batch_type& block, std::span<const origin> of) {
    for (const auto& each : block) {
      all.emplace_back(reinterpret_cast<const char*>(each.data()), each.size());
    }
    told.insert(told.end(), of.begin(), of.end());
  };
  co_await reader.read(keep);
  CHECK(told == places);
  co_return all;
}

// Each record with this chance; at least one.
std::vector<std::size_t> some_of_them(leat::random_engine& random, std::size_t count,
                                      double chance) {
  std::vector<std::size_t> chosen;
  for (std::size_t i = 0; i < count; ++i) {
    if (static_cast<double>(random.uniform_below(1'000'000)) < chance * 1e6) chosen.push_back(i);
  }
  if (chosen.empty()) chosen.push_back(random.uniform_below(count));
  return chosen;
}

void check_chosen(world& w, const records& r, const std::vector<std::size_t>& chosen,
                  const leat::tfrecord_reader_options& options = {}) {
  std::vector<origin> places;
  texts expected;
  for (const std::size_t i : chosen) {
    places.push_back(r.places[i]);
    expected.push_back(r.all[i]);
  }
  texts found;
  w.run([&](world&) -> task<> {
    found = co_await read_again<leat::tfrecord_reader>(places, options);
  });
  REQUIRE(found == expected);
  REQUIRE(w.files().open_files() == 0);
}

TEST_CASE("position_reader: reads the requested records, however far apart", "[pipeline]") {
  for (std::uint64_t seed = 0; seed < leat_test::scaled_count(40); ++seed) {
    world w(seed,
            {.files = {.faults = {.short_transfer = 0.1, .interrupted = 0.02, .again = 0.02}}});
    leat::random_engine random(seed);
    // Sizes from a few bytes to more than a piece.
    const std::size_t most = std::size_t{20} << (seed % 10);
    const records r = records_of(random, 2000, most);
    w.run([&](world&) { return write(r); });
    for (const double chance : {1.0, 0.5, 0.1, 0.01, 0.001, 0.0}) {
      check_chosen(w, r, some_of_them(random, r.all.size(), chance));
    }
    // First few, then many, then few, as in the buffer of a shuffle.
    std::vector<std::size_t> mixed;
    for (std::size_t i = 0; i < r.all.size(); i += i < 900 || i > 1200 ? 97 : 1) mixed.push_back(i);
    check_chosen(w, r, mixed);
  }
}

TEST_CASE("position_reader: reads few other bytes between distant records", "[pipeline]") {
  world w(1);
  leat::random_engine random(1);
  const records r = records_of(random, 20'000, 1000);  // 10 MB
  w.run([&](world&) { return write(r); });
  const std::uint64_t before = w.files().calls();
  std::vector<std::size_t> chosen;
  for (std::size_t i = 0; i < r.all.size(); i += 100) chosen.push_back(i);
  check_chosen(w, r, chosen);
  CHECK(w.files().calls() - before < 3 * chosen.size());

  // With chunks of this size, the complete file would have to be read.
  int reports = 0;
  std::string bytes = w.files().read_file("/data").value();
  for (std::size_t i = 50; i < r.all.size(); i += 100) {  // damage between the requested records
    bytes[static_cast<std::size_t>(r.places[i].offset) + 13] ^= 1;
  }
  w.files().write_file("/data", bytes);
  leat::tfrecord_reader_options o;
  o.corruption.policy = leat::corruption_policy::skip_record;
  o.corruption.on_report = [&](const leat::corruption_report&) { ++reports; };
  check_chosen(w, r, chosen, o);
  CHECK(reports == 0);
}

TEST_CASE("position_reader: reads a compressed file once, from the start", "[pipeline]") {
  world w(1);
  leat::random_engine random(1);
  const records r = records_of(random, 5000, 1000);
  w.run([&](world&) { return write(r, leat::compression::gzip); });
  for (const auto type :
       {std::optional(leat::compression::gzip), std::optional<leat::compression>()}) {
    for (const double chance : {1.0, 0.1, 0.01, 0.0}) {
      leat::tfrecord_reader_options o;
      o.compression = type;
      check_chosen(w, r, some_of_them(random, r.all.size(), chance), o);
    }
  }
}

TEST_CASE("position_reader: reads lines and whole files", "[pipeline]") {
  world w(1);
  texts expected;
  std::vector<origin> places;
  std::string content;
  for (std::uint64_t i = 0; i < 100'000; ++i) {
    if (i % 1000 == 7) {
      places.push_back({0, content.size(), i, 0});
      expected.push_back("line " + std::to_string(i));
    }
    content += "line " + std::to_string(i) + '\n';
  }
  w.files().write_file("/data", content);
  texts lines;
  texts whole;
  w.run([&](world&) -> task<> {
    lines = co_await read_again<leat::line_reader>(places);
    const std::vector<origin> first(1);
    whole = co_await read_again<leat::whole_file_reader>(first);
  });
  CHECK(lines == expected);
  CHECK(whole == texts{content});
}

TEST_CASE("position_reader: reads several records in one loop iteration, then yields",
          "[pipeline]") {
  // Two of three records, so that each block is short. On real threads, where other tasks may
  // always be ready.
  const temp_dir dir;
  constexpr std::size_t count = 3000;
  constexpr std::size_t share = 16;
  std::string lines;
  std::vector<origin> places;
  for (std::uint64_t i = 0; i < count; ++i) {
    if (i % 3 != 2) places.push_back({0, lines.size(), i, 0});
    lines += std::to_string(i) + '\n';
  }
  dir.write("lines", lines);
  std::size_t since = 0;
  std::size_t most = 0;
  std::size_t turns = 0;
  bool done = false;
  const auto others = [&]() -> task<> {
    while (!done) {
      turns += since > 0 ? 1 : 0;
      most = std::max(most, since);
      since = 0;
      co_await leat::this_task::yield();
    }
  };
  const auto both = [&]() -> task<> {
    leat::task_group group("others");
    group.spawn(others());
    leat::detail::position_reader<leat::line_reader> reader(dir / "lines", {}, places);
    const auto keep = [&](leat::line_batch& block, std::span<const origin>) {
      since += block.size();
    };
    co_await reader.read(keep);
    done = true;
    co_await group.join();
  };
  leat::block_on(both());
  CHECK(most <= share);
  CHECK(turns <= places.size() / share + 8);  // each read may end one earlier
}

TEST_CASE("position_reader: rejects a missing record at any position", "[pipeline]") {
  world w(1);
  leat::random_engine random(1);
  const records r = records_of(random, 3000, 1000);
  w.run([&](world&) { return write(r); });
  const std::uint64_t end = r.places.back().offset;
  for (const std::size_t step : {std::size_t{1}, std::size_t{100}}) {
    for (const std::uint64_t wrong : {std::uint64_t{1}, ~std::uint64_t{0}, end}) {
      std::vector<origin> places;
      for (std::size_t i = 0; i < r.places.size(); i += step) places.push_back(r.places[i]);
      places.back().offset += wrong;
      std::string said;
      w.run([&](world&) -> task<> {
        said = co_await message_of<leat::failure>(read_again<leat::tfrecord_reader>(places));
      });
      INFO(step << ' ' << wrong);
      CHECK(contains(said, "/data"));
    }
  }
}

}  // namespace position_reader_test
