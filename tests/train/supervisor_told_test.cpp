// What a supervisor tells of its checkpoints.

#include <exception>
#include <string>

#include "leat/io/file.hpp"
#include "leat/train/supervisor.hpp"
#include "train/supervised.hpp"

namespace supervisor_told_test {

using leat::supervisor;
using leat::task;
using leat_test::contains;
using leat_test::in_world;
using leat_test::learner;
using leat_test::thrown_by;
using leat_test::words;

TEST_CASE("supervisor: each checkpoint that is passed over is told", "[train]") {
  in_world([](leat::sim::world& w) -> task<> {
    learner l;
    {
      supervisor sv(l.options());
      co_await sv.managed([&]() -> task<> {
        for (int i = 0; i < 3; ++i) {
          l.learn();
          co_await sv.save();
        }
      });
    }
    CHECK(l.warnings.empty());
    std::string bytes = w.files().read_file("/run/model.ckpt-3").value();
    bytes.back() = static_cast<char>(bytes.back() ^ 1);
    w.files().write_file("/run/model.ckpt-3", bytes);
    co_await leat::remove_file("/run/model.ckpt-2");

    leat::supervisor_options o = l.options();
    words refused;
    o.saver.on_refused = [&](const std::string& path, const std::exception_ptr&) {
      refused.push_back(path);
    };
    supervisor sv(std::move(o));
    co_await sv.managed([&]() -> task<> {
      CHECK(sv.restored_from() == "/run/model.ckpt-1");
      co_return;
    });
    CHECK(refused == words{"/run/model.ckpt-3", "/run/model.ckpt-2"});
    REQUIRE(l.warnings.size() == 2);
    CHECK(contains(l.warnings[0], "supervisor: a checkpoint is passed over: /run/model.ckpt-3: "));
    CHECK(contains(l.warnings[0], "the checkpoint is damaged"));
    CHECK(contains(l.warnings[1], "not a valid checkpoint: /run/model.ckpt-2"));
  });
}

TEST_CASE("supervisor: what the saver warns of is told", "[train]") {
  in_world([](leat::sim::world& w) -> task<> {
    learner l;
    w.files().write_file("/run/checkpoint", "no state file");
    words heard;
    leat::supervisor_options o = l.options();
    o.saver.on_warning = [&](const std::string& sentence) { heard.push_back(sentence); };
    supervisor sv(std::move(o));
    CHECK(
        contains(co_await thrown_by(sv.managed([]() -> task<> { co_return; })), "/run/checkpoint"));
    REQUIRE(heard.size() == 1);
    REQUIRE(l.warnings.size() == 2);
    CHECK(l.warnings[0] == "supervisor: " + heard[0]);
    CHECK(contains(l.warnings[1], "is passed over: /run/checkpoint: "));
  });
}

}  // namespace supervisor_told_test
