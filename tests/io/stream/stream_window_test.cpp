// Records and lines that are longer than one read. Regardless of the sizes of the reads, no data is
// copied or scanned repeatedly.

#include "leat/io/stream/detail/stream_window.hpp"

#include <cstring>

#include "io/reader/record_reader_definitions.hpp"
#include "leat/io/reader/line_reader.hpp"
#include "leat/io/stream/internal/decompressed_stream.hpp"
#include "leat/sim/world/world.hpp"
#include "support/leat_test.hpp"
#include "support/records/texts.hpp"
#include "support/records/zlib_oracle.hpp"

namespace stream_window_test {

using leat::detail::chunk_pool;
using leat::detail::stream_window;
using leat_test::noise;

constexpr std::size_t kibibyte = 1024;
constexpr std::size_t headroom = 128 * kibibyte;
constexpr std::size_t chunk_size = 512 * kibibyte;

struct pool_of_chunks {
  explicit pool_of_chunks(std::size_t before = headroom)
      : pool(chunk_pool::make(2, before, chunk_size)) {}
  pool_of_chunks(const pool_of_chunks&) = delete;
  pool_of_chunks& operator=(const pool_of_chunks&) = delete;
  ~pool_of_chunks() { pool->close(); }

  chunk_pool* pool;
};

// Adds a text in pieces of at most `piece` bytes and checks that all of it is in view. Returns the
// number of copied bytes.
std::uint64_t copied_for(const std::string& text, std::size_t piece, std::uint64_t needed,
                         bool certain) {
  const pool_of_chunks chunks;
  stream_window view;
  for (std::size_t at = 0; at < text.size();) {
    const stream_window::request d{.carried = view.size(), .needed = needed, .certain = certain};
    stream_window::free_space r = view.reserve(*chunks.pool, d, chunk_size);
    const std::size_t fresh = std::min({piece, r.size, text.size() - at});
    std::memcpy(r.at, text.data() + at, fresh);
    view.slide(*chunks.pool, std::move(r), d, fresh);
    at += fresh;
  }
  REQUIRE(view.size() == text.size());
  REQUIRE(std::memcmp(view.data(), text.data(), text.size()) == 0);
  return view.copied();
}

TEST_CASE("stream_window: copies data that grows in small pieces at most twice") {
  const std::string text = noise(std::size_t{9} << 20);
  for (const std::size_t piece : {4 * kibibyte, 64 * kibibyte, chunk_size + 1}) {
    CHECK(copied_for(text, piece, 0, false) < 2 * text.size());
    CHECK(copied_for(text, piece, text.size(), false) < 2 * text.size());
    CHECK(copied_for(text, piece, text.size(), true) < 2 * chunk_size);
  }
}

TEST_CASE("stream_window: keeps adjacent chunks separate") {
  const pool_of_chunks chunks(0);
  stream_window view;
  for (int i = 0; i < 3; ++i) {
    stream_window::free_space r = view.reserve(*chunks.pool, {}, chunk_size);
    const leat::detail::chunk_reference next = r.in;
    view.slide(*chunks.pool, std::move(r), {}, chunk_size);
    CHECK(&*view.keeper() == &*next);
    CHECK(view.data() == next->body());
  }
}

TEST_CASE("stream_window: reserves memory only for certain data") {
  const pool_of_chunks chunks;
  constexpr std::size_t long_record = std::size_t{1} << 26;
  stream_window view;
  stream_window::request d;
  stream_window::free_space r = view.reserve(*chunks.pool, d, chunk_size);
  CHECK(r.size == chunk_size);
  view.slide(*chunks.pool, std::move(r), d, chunk_size);
  d = {.carried = chunk_size, .needed = long_record, .certain = true};
  CHECK(view.reserve(*chunks.pool, d, chunk_size).size == long_record - chunk_size);
  d.certain = false;
  CHECK(view.reserve(*chunks.pool, d, chunk_size).size == chunk_size);
  d.needed = chunk_size + 1;
  CHECK(view.reserve(*chunks.pool, d, chunk_size / 4).size == chunk_size / 4);
}

// Data of a file is copied once, from the read-ahead buffer into view.
TEST_CASE("stream_window: joins separate reads in one buffer") {
  const std::string text = noise(std::size_t{9} << 20);
  for (const bool certain : {false, true}) {
    const pool_of_chunks chunks;
    stream_window view;
    for (std::size_t at = 0; at < text.size();) {
      const stream_window::request d{
          .carried = view.size(), .needed = certain ? text.size() : 0, .certain = certain};
      stream_window::free_space r = stream_window::reserve_chunk(*chunks.pool, {}, chunk_size);
      const std::size_t fresh = std::min(r.size, text.size() - at);
      std::memcpy(r.at, text.data() + at, fresh);
      view.slide(*chunks.pool, std::move(r), d, fresh);
      at += fresh;
    }
    REQUIRE(std::memcmp(view.data(), text.data(), text.size()) == 0);
    CHECK(view.copied() <= (certain ? 1 : 3) * text.size() + chunk_size);
    CHECK(view.keeper()->body_size() <= (certain ? 1 : 2) * text.size());
  }
}

TEST_CASE("decompressed_stream: a long record from a pipe is not copied with each piece") {
  const std::string text = noise(std::size_t{4} << 20);
  leat::sim::world w(1);
  w.files().make_pipe("/f");
  w.run([&](leat::sim::world& here) -> task<> {
    leat::file f = co_await leat::file::open("/f", leat::open_mode::read);
    leat::detail::decompressed_stream stream(f, {}, headroom);
    const stream_window& view = stream.view();
    const auto where = std::source_location::current();
    for (std::size_t at = 0; at < text.size(); at += 4 * kibibyte) {
      here.files().write_pipe("/f", std::string_view(text).substr(at, 4 * kibibyte));
      REQUIRE(co_await stream.advance(view.size(), 0, where));
    }
    REQUIRE(view.size() == text.size());
    REQUIRE(std::memcmp(view.data(), text.data(), text.size()) == 0);
    CHECK(view.copied() < 2 * text.size());
  });
}

TEST_CASE("decompressed_stream: a long record with a poor ratio is not copied with each piece") {
  const std::string text = noise(std::size_t{8} << 20);
  leat::sim::world w(1);
  w.files().write_file("/f", leat_test::zlib_deflated(text, {.level = 1}));
  w.run([&](leat::sim::world&) -> task<> {
    leat::file f = co_await leat::file::open("/f", leat::open_mode::read);
    leat::detail::decompressed_stream stream(
        f, {.read = {.chunk_size = 64 * kibibyte}, .compression = leat::compression::gzip},
        headroom);
    const auto where = std::source_location::current();
    bool more = true;
    while (more) more = co_await stream.advance(stream.view().size(), 0, where);
    CHECK_FALSE(stream.fault());
    REQUIRE(stream.view().size() == text.size());
    REQUIRE(std::memcmp(stream.view().data(), text.data(), text.size()) == 0);
    CHECK(stream.view().copied() < 3 * text.size());
  });
}

// Frames lines, and counts the bytes that it searches.
class counting_framing : public leat::detail::line_framing {
 public:
  using line_framing::line_framing;
  [[nodiscard]] leat::detail::framing_result find(const leat::detail::framing_input& run,
                                                  std::vector<view>& lines) const {
    looked_at += run.bytes.size() - run.searched;
    return line_framing::find(run, lines);
  }
  inline static std::uint64_t looked_at = 0;
};

TEST_CASE("line_reader: does not rescan a long line with each piece") {
  const std::string line(std::size_t{2} << 20, 'x');
  const std::string text = "short\n" + line + "\r\nx\n" + line;
  leat::sim::world w(1);
  w.files().make_pipe("/f");
  counting_framing::looked_at = 0;
  std::vector<std::size_t> sizes;
  w.run([&](leat::sim::world& here) -> task<> {
    leat::file f = co_await leat::file::open("/f", leat::open_mode::read);
    leat::line_reader_options options;
    options.read.chunk_size = 4 * kibibyte;
    leat::basic_record_reader<counting_framing> reader(std::move(f), options);
    here.files().write_pipe("/f", text);
    here.files().close_pipe("/f");
    leat::basic_record_batch<std::string_view> batch;
    while (co_await reader.read_batch(batch)) {
      for (const std::string_view l : batch) sizes.push_back(l.size());
    }
  });
  CHECK(sizes == std::vector<std::size_t>{5, line.size(), 1, line.size()});
  CHECK(counting_framing::looked_at < 2 * text.size());
}

}  // namespace stream_window_test
