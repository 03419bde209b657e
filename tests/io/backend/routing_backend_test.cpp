#include "leat/io/backend/routing_backend.hpp"

#include <cerrno>
#include <filesystem>

#include "io/routed_files.hpp"
#include "leat/io/backend/get_file_backend.hpp"
#include "leat/io/file/file.hpp"
#include "leat/io/file/match_files.hpp"
#include "leat/io/index/indexed_reader.hpp"
#include "leat/io/reader/file_prefetcher.hpp"
#include "leat/io/writer/tfrecord_appender.hpp"
#include "support/leat_test.hpp"
#include "support/records/record_files.hpp"

namespace routing_backend_test {

using leat_test::mapped_backend;
using leat_test::outcome;
using leat_test::texts;
using leat_test::with_routed_files;

TEST_CASE("routing_backend: the longest prefix that ends with a name selects the backend") {
  with_routed_files([](mapped_backend& left, mapped_backend& right) -> task<> {
    leat::file_backend& real = leat::get_file_backend(leat::this_task::get_scheduler());
    leat::routing_backend files(real.backend_for("/"));
    files.add("/a", left);
    files.add("/a/b/c", left);
    files.add("/a/b", right);
    files.add("x://", right);
    for (const char* path : {"/a", "/a/", "/a/bc", "/a/b/c", "/a/b/c/d"}) {
      CHECK(&files.backend_for(path) == &left);
    }
    for (const char* path : {"/a/b", "/a/b/d", "/a/b/cd", "x://", "x://y"}) {
      CHECK(&files.backend_for(path) == &right);
    }
    for (const char* path : {"", "/", "/ab", "a", "x:/y"}) {
      CHECK(&files.backend_for(path) == &real.backend_for("/"));
    }
    CHECK_REFUSED("prefix is empty", files.add("", left));
    CHECK_REFUSED("prefix '/a' is already present", files.add("/a", right));
    co_return;
  });
}

TEST_CASE("routing_backend: readers, writers and patterns use the backend of a path") {
  with_routed_files([](mapped_backend& left, mapped_backend& right) -> task<> {
    const temp_dir local;
    const texts records = {"one", "two", "three"};
    co_await leat::make_directories("left:/deep/er");
    const texts paths = {"left:/deep/er/a.tfrecord", "left:/b.tfrecord", "right:/c.tfrecord",
                         local / "d.tfrecord"};
    for (const std::string& path : paths) co_await leat_test::write_records(path, records, 8);
    CHECK(std::filesystem::exists(left.files / "deep/er/a.tfrecord"));
    CHECK(std::filesystem::exists(right.files / "c.tfrecord"));
    for (const std::string& path : paths) {
      CHECK(co_await leat_test::read_records(path) == records);
      CHECK((co_await leat::get_status(path)).is_regular);
    }
    std::vector<std::string> patterns = {"left:/*/er/*", "left:/*.tfrecord", "right:/c*"};
    std::vector<std::string> found = co_await leat::match_files(std::move(patterns));
    CHECK(found == texts{"left:/b.tfrecord", "left:/deep/er/a.tfrecord", "right:/c.tfrecord"});

    texts contents;
    leat::file_prefetcher prefetched(found);
    leat::loaded_file next;
    while (co_await prefetched.next(next)) contents.emplace_back(leat::as_text(next.contents()));
    CHECK(contents.size() == 3);
    CHECK(contents.front() == temp_dir::read(left.files / "b.tfrecord"));

    // With one open file at a time, each is opened again.
    leat::indexed_reader_options one_open;
    one_open.num_epochs = 3;
    one_open.max_open_files = 1;
    auto reader = co_await leat::indexed_reader::open(paths, one_open);
    std::size_t count = 0;
    leat::record_selection batch;
    while (co_await reader->read_batch(batch)) count += batch.size();
    CHECK(count == 3 * paths.size() * records.size());

    co_await leat::rename_file("left:/b.tfrecord", "left:/deep/b.tfrecord");
    co_await leat::remove_file("left:/deep/b.tfrecord");
    const texts left_over = co_await leat::list_directory("left:/deep");
    CHECK(left_over == texts{"er"});
  });
}

task<outcome> outcome_of_rename(std::string from, std::string to) {
  co_return co_await outcome_of(leat::rename_file(std::move(from), std::move(to)));
}

TEST_CASE("routing_backend: refuses a rename between two backends") {
  with_routed_files([](mapped_backend& left, mapped_backend&) -> task<> {
    static_cast<void>(left.files.write("a", "text"));
    const outcome o = co_await outcome_of_rename("left:/a", "right:/a");
    CHECK(contains(o.text,
                   "left:/a: cannot rename to right:/a, from file backend 'left' to 'right'"));
    CHECK(temp_dir::read(left.files / "a") == "text");

    leat::file_backend& files = leat::get_file_backend(leat::this_task::get_scheduler());
    leat::file_request r;
    r.what = leat::file_request::operation::rename;
    r.path = "left:/a";
    r.new_path = "right:/a";
    CHECK(files.try_complete(r));
    CHECK(r.result == -EXDEV);
    leat::file_request by_handle;
    files.execute_blocking(by_handle);
    CHECK(by_handle.result == -EBADF);
    CHECK(files.set_direct(0, true) == -EBADF);
  });
}

task<void> lock_file(std::string path) {
  leat::file f = co_await leat::file::open(std::move(path), leat::open_mode::lock);
  co_await f.try_lock();
}

task<void> truncate_file(std::string path) {
  leat::file f = co_await leat::file::open(std::move(path), leat::open_mode::read_write);
  co_await f.truncate(1);
}

task<void> append_records(std::string path) {
  auto appender = co_await leat::tfrecord_appender::open(std::move(path));
  co_await appender.write(leat::as_bytes("more"));
}

TEST_CASE("file_backend: a missing capability fails first, with the path and its name") {
  constexpr leat::file_capabilities none{
      .lock = false, .rename = false, .truncate = false, .direct = false};
  const auto check = [](mapped_backend& left, mapped_backend&) -> task<> {
    static_cast<void>(left.files.write("a", ""));
    outcome o = co_await outcome_of(lock_file("left:/a"));
    CHECK(o.code == errc::unimplemented);
    CHECK(contains(o.text, "left:/a: file backend 'left' cannot lock files"));
    o = co_await outcome_of(truncate_file("left:/a"));
    CHECK(contains(o.text, "left:/a: file backend 'left' cannot truncate files"));
    o = co_await outcome_of(append_records("left:/a"));
    CHECK(contains(o.text, "left:/a: file backend 'left' cannot truncate files"));
    o = co_await outcome_of_rename("left:/a", "left:/b");
    CHECK(contains(o.text, "left:/a: file backend 'left' cannot rename files"));
    o = co_await outcome_of(leat_test::write_records("left:/b", texts(1), 100));
    CHECK(contains(o.text, "left:/b: file backend 'left' cannot rename files"));
    const texts names = co_await leat::list_directory("left:/");
    CHECK(names == texts{"a"});  // nothing is left

    static_cast<void>(left.files.write("lines", "x\ny\n"));
    leat::line_reader_options direct;
    direct.read.direct = true;
    const texts lines = co_await leat_test::read_lines("left:/lines", direct);
    CHECK(lines == texts{"x", "y"});
    CHECK(left.direct_calls == 0);
    const auto all = leat::get_file_backend(leat::this_task::get_scheduler()).capabilities();
    CHECK_FALSE((all.lock || all.rename || all.truncate || all.direct));
  };
  with_routed_files(check, none);
}

}  // namespace routing_backend_test
