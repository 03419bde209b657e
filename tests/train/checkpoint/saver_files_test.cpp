// Savers with real files, on the backend that LEAT_IO selects.

#include "leat/train/checkpoint/checkpoint_directory.hpp"
#include "leat/train/checkpoint/saver.hpp"
#include "support/leat_test.hpp"
#include "support/temp_dir.hpp"
#include "train/checkpoint/saver_support.hpp"

namespace saver_files_test {

using namespace leat_test;
using leat::saver;

TEST_CASE("saver: in real files, small values and large ones", "[train]") {
  const temp_dir dir;
  const std::string place = dir / "a" + "/b";
  program p;
  std::vector<std::uint32_t> large(1'500'000);
  for (std::size_t i = 0; i < large.size(); ++i) large[i] = static_cast<std::uint32_t>(i * i);
  const std::vector<std::uint32_t> expected = large;
  std::vector<std::string> many(2000, "a text of its own");
  p.what.add("large", large);
  for (std::size_t i = 0; i < many.size(); ++i) p.what.add("text " + std::to_string(i), many[i]);
  leat::block_on([](std::string at, program& of) -> task<void> {
    saver s = co_await saver::open(at, of.what, of.options());
    co_await save_all(s, of, 1, 2, 3, 4, 5, 6, 7);
    CHECK(s.last_checkpoints().size() == 5);
  }(place, p));
  large.clear();
  for (std::string& text : many) text.clear();
  p.m.set(0);
  leat::block_on([](std::string at, program& of) -> task<void> {
    saver s = co_await saver::open(at, of.what, of.options());
    CHECK(co_await s.restore_latest() == at + "/model.ckpt-7");
    const auto times = co_await leat::get_checkpoint_mtimes(s.last_checkpoints());
    CHECK(times.size() == 5);
  }(place, p));
  CHECK(p.m.is(7));
  CHECK(large == expected);
  CHECK(many == std::vector<std::string>(2000, "a text of its own"));
  CHECK(p.warnings.empty());
  CHECK(p.refused.empty());
}

TEST_CASE("saver: without copies, and without fsync", "[train]") {
  const temp_dir dir;
  program p;
  leat::saver_options o = p.options();
  o.copy_values = false;
  o.durable = false;
  std::vector<double> large(300'000, 1.5);
  p.what.add("large", large);
  leat::block_on([](std::string at, program& of, leat::saver_options opt,
                    std::vector<double>& values) -> task<void> {
    saver s = co_await saver::open(at, of.what, opt);
    const std::string path = co_await save(s, of, 3);
    of.m.set(4);
    values.clear();
    co_await s.restore(path);
    CHECK(of.m.is(3));
    CHECK(values == std::vector<double>(300'000, 1.5));
  }(dir.path(), p, o, large));
}

}  // namespace saver_files_test
