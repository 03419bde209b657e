#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <catch2/catch.hpp>

#include "leat/async/loop/block_on.hpp"
#include "leat/base/bytes.hpp"
#include "leat/io/writer/tfrecord_writer.hpp"
#include "leat/pipeline/pipeline.hpp"
#include "pipeline/lines_pipeline.hpp"
#include "support/effort.hpp"
#include "support/leat_test.hpp"
#include "support/temp_dir.hpp"

namespace leat_test {

inline std::string text_of_record(leat::byte_view record) {
  return std::string(leat::as_text(record));
}

/// "a,b,c".
template <class Range>
std::string joined_by_commas(const Range& all) {
  std::string text;
  for (const auto& each : all) text += (text.empty() ? "" : ",") + std::string(each);
  return text;
}

/// Files of very different sizes, some of them empty, that together have the lines "0", "1", ...
inline void write_line_files(const temp_dir& dir, int lines) {
  int next = 0;
  for (int file = 0; next < lines; ++file) {
    std::string text;
    const int size = file % 4 == 2 ? 0 : 1 + 7 * (file % 5) * (1 + file / 3);
    for (int i = 0; i < size && next < lines; ++i) text += std::to_string(next++) + '\n';
    dir.write("lines" + std::to_string(100 + file), text);
  }
}

/// Writes the same records to TFRecord files.
inline leat::task<> write_record_files(const temp_dir& dir, int records,
                                       leat::compression compression = leat::compression::none) {
  int next = 0;
  for (int file = 0; next < records; ++file) {
    auto writer = co_await leat::tfrecord_writer::open(
        dir / ("records" + std::to_string(100 + file)), {.compression = compression});
    const int size = file % 4 == 2 ? 0 : 1 + 11 * (file % 5) * (1 + file / 3);
    for (int i = 0; i < size && next < records; ++i) {
      const std::string record = std::to_string(next++);
      co_await writer.write(leat::as_bytes(record));
    }
    co_await writer.close();
  }
}

/// Returns up to `count` elements, and the states: the first before all elements, then one after
/// each.
template <class Pipeline>
leat::task<std::pair<texts, texts>> read_and_save(Pipeline& p, std::size_t count = SIZE_MAX) {
  texts all;
  texts states;
  states.push_back(p.save());
  while (all.size() < count) {
    auto element = co_await p.next();
    if (!element) break;
    all.push_back(std::move(*element));
    states.push_back(p.save());
  }
  co_await p.stop();
  co_return std::pair(std::move(all), std::move(states));
}

template <class Pipeline>
leat::task<texts> go_on(Pipeline& p, std::string state, std::size_t count = SIZE_MAX) {
  co_await p.restore(std::move(state));
  texts all;
  while (all.size() < count) {
    auto element = co_await p.next();
    if (!element) break;
    all.push_back(std::move(*element));
  }
  co_await p.stop();
  co_return all;
}

/// Checks for every k that a pipeline from make() that is restored after k elements continues the
/// uninterrupted stream, also if it is saved and restored repeatedly. Reads the complete rest for
/// some k, and otherwise `some` elements of it, enough to replace the contents of every buffer.
template <class Make>
void check_resuming(Make make, std::size_t some = 150) {
  auto whole = make();
  const auto [all, states] = leat::block_on(read_and_save(whole));
  REQUIRE(all.size() >= 50);
  {
    auto p = make();  // a save changes nothing
    REQUIRE(leat::block_on(read_all(p)) == all);
  }
  const std::size_t step = slow_build || is_repeated_run() ? 37 : 1;
  for (std::size_t k = 0; k < states.size(); k += step) {
    auto p = make();
    const std::size_t count = k % 50 == 0 ? SIZE_MAX : some;
    const texts rest = leat::block_on(go_on(p, states[k], count));
    const std::size_t end = std::min(all.size(), count == SIZE_MAX ? all.size() : k + count);
    const texts expected(all.begin() + static_cast<std::ptrdiff_t>(k),
                         all.begin() + static_cast<std::ptrdiff_t>(end));
    INFO("restored behind " << k << " of " << all.size());
    REQUIRE(rest == expected);
  }
  leat::random_engine random(7);
  for (std::uint64_t chain = 0; chain < scaled_count(10); ++chain) {
    texts seen;
    std::string state = states[0];
    for (bool more = true; more;) {
      auto p = make();
      const auto part = [&]() -> leat::task<std::pair<texts, texts>> {
        co_await p.restore(state);
        co_return co_await read_and_save(p, random.uniform_below(60));
      };
      const auto [elements, after] = leat::block_on(part());
      seen.insert(seen.end(), elements.begin(), elements.end());
      more = seen.size() < all.size();
      state = after.back();
    }
    REQUIRE(seen == all);
  }
}

}  // namespace leat_test
