#pragma once

#include <algorithm>
#include <cstdint>
#include <stdexcept>
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

inline std::string join_batch(const texts& batch) { return joined_by_commas(batch); }

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

/// Writes TFRecord files with these numbers of records: "0", "1", ... The name of the i-th file is
/// "records" and the number first_file + i.
inline leat::task<> write_records(const temp_dir& dir, std::vector<int> sizes, int first_file = 0,
                                  leat::compression compression = leat::compression::none) {
  int next = 0;
  for (const int size : sizes) {
    auto writer = co_await leat::tfrecord_writer::open(
        dir / ("records" + std::to_string(first_file++)), {.compression = compression});
    for (int i = 0; i < size; ++i) {
      const std::string record = std::to_string(next++);
      co_await writer.write(leat::as_bytes(record));
    }
    co_await writer.close();
  }
}

/// Writes the same records as write_line_files() to TFRecord files.
inline leat::task<> write_record_files(const temp_dir& dir, int records,
                                       leat::compression compression = leat::compression::none) {
  std::vector<int> sizes;
  for (int file = 0; records > 0; ++file) {
    const int size = file % 4 == 2 ? 0 : 1 + 11 * (file % 5) * (1 + file / 3);
    sizes.push_back(std::min(size, records));
    records -= sizes.back();
  }
  return write_records(dir, std::move(sizes), 100, compression);
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

/// Returns the elements from the k-th one on.
inline texts elements_from(const texts& all, std::size_t k) {
  return {all.begin() + static_cast<std::ptrdiff_t>(k), all.end()};
}

/// Like read_and_save(), for a pipeline that nothing else uses.
template <class Pipeline>
std::pair<texts, texts> run_and_save(Pipeline p, std::size_t count = SIZE_MAX) {
  return leat::block_on(read_and_save(p, count));
}
/// Like go_on(), for a pipeline that nothing else uses.
template <class Pipeline>
texts elements_after(Pipeline p, std::string state, std::size_t count = SIZE_MAX) {
  return leat::block_on(go_on(p, std::move(state), count));
}

/// Like run_and_save(), from a state on.
template <class Pipeline>
std::pair<texts, texts> restore_and_save(Pipeline p, std::string state,
                                         std::size_t count = SIZE_MAX) {
  const auto body = [&]() -> leat::task<std::pair<texts, texts>> {
    co_await p.restore(std::move(state));
    co_return co_await read_and_save(p, count);
  };
  return leat::block_on(body());
}

/// Returns the elements before a std::runtime_error, which must occur, and the state after it.
template <class Pipeline>
std::pair<texts, std::string> read_to_error(Pipeline p, std::string state = {}) {
  texts all;
  const auto body = [&]() -> leat::task<> {
    if (!state.empty()) co_await p.restore(state);
    while (auto element = co_await p.next()) all.push_back(std::move(*element));
  };
  CHECK_THROWS_AS(leat::block_on(body()), std::runtime_error);
  return {all, p.save()};
}

/// Returns the message with which a pipeline rejects a state.
template <class Pipeline>
std::string restore_error(Pipeline p, std::string state,
                          leat::errc expected = leat::errc::failed_precondition) {
  std::string why = error_of(p.restore(std::move(state)), expected);
  leat::block_on(p.stop());
  return why;
}
/// Returns the message with which a pipeline rejects the states of ranks.
template <class Pipeline>
std::string restore_ranks_error(Pipeline p, texts states,
                                leat::errc expected = leat::errc::failed_precondition) {
  std::string why = error_of(p.restore_ranks(std::move(states)), expected);
  leat::block_on(p.stop());
  return why;
}

/// Checks for every k that a pipeline from make() that is restored after k elements continues the
/// uninterrupted stream, also if it is saved and restored repeatedly. Reads the complete rest for
/// some k, and otherwise `some` elements of it, enough to replace the contents of every buffer.
template <class Make>
void check_resuming(Make make, std::size_t some = 150) {
  const auto [all, states] = run_and_save(make());
  REQUIRE(all.size() >= 50);
  REQUIRE(elements_of(make()) == all);  // a save changes nothing
  const std::size_t step = slow_build || is_repeated_run() ? 37 : 1;
  for (std::size_t k = 0; k < states.size(); k += step) {
    const std::size_t count = k % 50 == 0 ? SIZE_MAX : some;
    const texts rest = elements_after(make(), states[k], count);
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
      const auto [elements, after] = restore_and_save(make(), state, random.uniform_below(60));
      seen.insert(seen.end(), elements.begin(), elements.end());
      more = seen.size() < all.size();
      state = after.back();
    }
    REQUIRE(seen == all);
  }
}

}  // namespace leat_test
