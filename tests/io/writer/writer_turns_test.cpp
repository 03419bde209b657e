// The turns of other tasks while a writer compresses and never waits.

#include "leat/base/bytes.hpp"
#include "leat/codec/tfrecord/tfrecord.hpp"
#include "leat/io/writer/tfrecord_writer.hpp"
#include "support/leat_test.hpp"
#include "support/temp_dir.hpp"
#include "support/turns.hpp"

namespace writer_turns_test {

TEST_CASE("tfrecord_writer: other tasks run while records are compressed") {
  const temp_dir dir;
  const std::string zeros((std::size_t{64} << 10) - leat::tfrecord_overhead, '\0');
  leat_test::ready_task other;
  std::size_t runs = 0;
  other.run_during([&]() -> task<> {
    auto writer = co_await leat::tfrecord_writer::open(dir / "records",
                                                       {.compression = leat::compression::zlib});
    const std::size_t before = other.runs();
    for (int i = 0; i < 1200; ++i) co_await writer.write(leat::as_bytes(zeros));
    runs = other.runs() - before;
    co_await writer.close();
  });
  CHECK(runs >= 1);
}

}  // namespace writer_turns_test
