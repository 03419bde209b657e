// Which checkpoints savers pass over, such as those of another program, and which end the search.

#include <exception>
#include <functional>
#include <new>

#include "leat/train/checkpoint/saver.hpp"
#include "support/leat_test.hpp"
#include "train/checkpoint/saver_support.hpp"

namespace saver_going_back_test {

using namespace leat_test;
using leat::checkpoint_registry;
using leat::saver;
using leat::saver_options;
using leat::sim::world;

// An object whose restore() calls a function of the test first.
struct object {
  std::string save() const { return value; }
  void restore(std::string_view bytes) {
    if (check) check(bytes);
    value = bytes;
  }
  std::string value = "old";
  std::function<void(std::string_view)> check = {};
};

// A program with an object that rejects the newer of its checkpoints 1 and 2.
struct program_of_object {
  program_of_object() { what.add("object", thing); }

  saver_options options() {
    saver_options o;
    o.on_skipped = [this](const std::string& path, const std::exception_ptr& e) {
      refused.push_back(path);
      why = e;
    };
    return o;
  }
  task<> save_two(saver& s) {
    co_await s.save(1);
    thing.value = "new";
    co_await s.save(2);
    thing.value = "mine";
  }
  template <class Error>
  void refuse_newer_with(Error e) {
    thing.check = [e](std::string_view bytes) {
      if (bytes == "new") throw e;
    };
  }

  object thing;
  checkpoint_registry what;
  names refused;
  std::exception_ptr why;
};

TEST_CASE("saver: any exception of an object rejects the checkpoint and names the entry",
          "[train]") {
  in_world([](world&) -> task<> {
    program_of_object p;
    saver s = co_await saver::open("/d", p.what, p.options());
    co_await p.save_two(s);
    p.refuse_newer_with(std::out_of_range("cannot parse 'new'"));
    CHECK(co_await s.restore_latest() == "/d/model.ckpt-1");
    CHECK(p.thing.value == "old");
    CHECK(p.refused == names{"/d/model.ckpt-2"});
    std::string said;
    std::string within;
    try {
      std::rethrow_exception(p.why);
    } catch (const leat::failure& e) {
      CHECK(e.code() == errc::invalid_argument);
      said = e.what();
      try {
        std::rethrow_if_nested(e);
      } catch (const std::out_of_range& original) {
        within = original.what();
      }
    }
    CHECK(contains(said, "/d/model.ckpt-2: entry 'object' is rejected: cannot parse 'new'"));
    CHECK(within == "cannot parse 'new'");
  });
}

TEST_CASE("saver: an object that is out of memory does not reject a checkpoint", "[train]") {
  in_world([](world&) -> task<> {
    program_of_object p;
    saver s = co_await saver::open("/d", p.what, p.options());
    co_await p.save_two(s);
    p.refuse_newer_with(std::bad_alloc());
    bool none = false;
    try {
      co_await s.restore_latest();
    } catch (const std::bad_alloc&) {
      none = true;
    }
    CHECK(none);
    CHECK(p.refused.empty());
    CHECK(p.thing.value == "mine");
  });
}

TEST_CASE("saver: does not use an earlier checkpoint if an intact one cannot be restored",
          "[train]") {
  in_world([](world& w) -> task<> {
    for (const errc code : {errc::failed_precondition, errc::data_loss}) {
      const std::string directory = code == errc::data_loss ? "/damaged" : "/changed";
      program_of_object p;
      saver s = co_await saver::open(directory, p.what, p.options());
      co_await p.save_two(s);
      p.refuse_newer_with(leat::failure(code, "/in/a has changed"));
      CHECK(contains(co_await message_of(s.restore_latest(), code),
                     directory + "/model.ckpt-2: entry 'object' is rejected: /in/a has "
                                 "changed; to restore only the other entries, set "
                                 "saver_options::left_out = {\"object\"}; "
                                 "the checkpoint is intact, so no earlier one is used: correct the "
                                 "cause, exclude the entry with saver_options::left_out, or permit "
                                 "earlier checkpoints with saver_options::skip_intact"));
      CHECK(p.refused.empty());
      CHECK(p.thing.value == "mine");

      saver_options anyway = p.options();
      anyway.skip_intact = true;
      saver back = co_await saver::open(directory, p.what, anyway);
      CHECK(co_await back.restore_latest() == directory + "/model.ckpt-1");
      CHECK(p.refused == names{directory + "/model.ckpt-2"});

      // Nor does it skip checkpoint 2 after it has skipped a corrupt checkpoint 3.
      co_await s.save(3);
      w.files().write_file(directory + "/model.ckpt-3", "");
      CHECK(contains(co_await message_of(s.restore_latest(), code), directory + "/model.ckpt-2: "));
    }
  });
}

TEST_CASE("saver: skips checkpoints of another program and never deletes them", "[train]") {
  in_world([](world& w) -> task<> {
    program p;
    {
      saver s = co_await saver::open("/d", p.what, two_of(p));
      co_await save_all(s, p, 1, 2);
    }
    co_await save_of_another("/d", 50);
    const auto theirs = w.files().read_file("/d/model.ckpt-50");
    REQUIRE(theirs.has_value());
    saver s = co_await saver::open("/d", p.what, two_of(p));
    CHECK(co_await s.restore_latest() == "/d/model.ckpt-2");
    CHECK(p.m.is(2));
    CHECK(p.refused == names{"/d/model.ckpt-50"});
    co_await save_all(s, p, 3, 4, 5);
    CHECK(checkpoints_in(w) == names{"/d/model.ckpt-4", "/d/model.ckpt-5", "/d/model.ckpt-50"});
    CHECK(w.files().read_file("/d/model.ckpt-50") == theirs);
  });
}

}  // namespace saver_going_back_test
