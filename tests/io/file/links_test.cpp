// Symbolic links: readers follow them, and writers of new files do not.

#include <filesystem>
#include <type_traits>

#include "leat/io/index/tfrecord_file.hpp"
#include "leat/io/index/tfrecord_index_file.hpp"
#include "leat/io/reader/file_prefetcher.hpp"
#include "leat/io/reader/fixed_length_reader.hpp"
#include "leat/io/reader/line_reader.hpp"
#include "leat/io/reader/tfrecord_reader.hpp"
#include "leat/io/reader/whole_file_reader.hpp"
#include "leat/io/writer/tfrecord_appender.hpp"
#include "leat/io/writer/tfrecord_writer.hpp"
#include "support/leat_test.hpp"
#include "support/records/record_bytes.hpp"
#include "support/temp_dir.hpp"

namespace links_test {

namespace fs = std::filesystem;
using leat_test::framed;
using leat_test::outcome;

template <class Reader>
task<std::string> first_record(std::string path, typename Reader::options_type options = {}) {
  auto reader = co_await Reader::open(path, options);
  typename Reader::batch_type batch;
  co_await reader->read_batch(batch);
  CHECK(batch.position(0).path == path);  // the given path
  if constexpr (std::is_same_v<typename Reader::batch_type, leat::record_batch>) {
    co_return std::string(leat::as_text(batch[0]));
  } else {
    co_return std::string(batch[0]);
  }
}

task<std::string> first_by_index(std::string path) {
  const auto file = co_await leat::tfrecord_file::open(std::move(path));
  const leat::owned_record r = co_await file->at(0);
  co_return std::string(leat::as_text(r.payload()));
}

task<std::string> first_whole(std::string path) {
  leat::file_prefetcher files(std::vector<std::string>{std::move(path)});
  leat::loaded_file file;
  co_await files.next(file);
  co_return std::string(leat::as_text(file.contents()));
}

template <class Writer>
task<> write_one(std::string path) {
  auto writer = co_await Writer::open(std::move(path), {});
  co_await writer.write(leat::as_bytes("new"));
  co_await writer.close();
}

outcome outcome_now(task<> t) {
  return outcome_of([&] { leat::block_on(std::move(t)); });
}

task<> forget(task<std::string> t) { static_cast<void>(co_await std::move(t)); }

TEST_CASE("links: readers follow a link and report its path") {
  const temp_dir dir;
  dir.write("text", "line\nline\n");
  dir.write("records", framed({"one", "two"}));
  fs::create_symlink("text", dir / "to text");
  fs::create_symlink(dir / "to text", dir / "and on");  // to a link, by an absolute path
  fs::create_symlink("records", dir / "to records");
  const std::string text = dir / "and on";
  const std::string records = dir / "to records";
  CHECK(leat::block_on(first_record<leat::line_reader>(text)) == "line");
  CHECK(leat::block_on(first_record<leat::fixed_length_reader>(text, {.record_size = 2})) == "li");
  CHECK(leat::block_on(first_record<leat::whole_file_reader>(text)) == "line\nline\n");
  CHECK(leat::block_on(first_whole(text)) == "line\nline\n");
  CHECK(leat::block_on(first_record<leat::tfrecord_reader>(records)) == "one");
  CHECK(leat::block_on(first_by_index(records)) == "one");
  CHECK(fs::exists(records + ".index"));  // is next to the link
}

TEST_CASE("links: a cyclic or dangling link is an error that names it") {
  const temp_dir dir;
  fs::create_symlink("b", dir / "a");
  fs::create_symlink("a", dir / "b");
  fs::create_symlink("none", dir / "to none");
  const auto check = [&](const auto& read) {
    const outcome loop = outcome_now(read(dir / "a"));
    CHECK(loop.code == errc::failed_precondition);
    CHECK(contains(loop.text, dir / "a"));
    CHECK(contains(loop.text, "Too many levels of symbolic links"));
    const outcome nothing = outcome_now(read(dir / "to none"));
    CHECK(nothing.code == errc::not_found);
    CHECK(contains(nothing.text, dir / "to none"));
  };
  check([](const std::string& p) { return forget(first_record<leat::line_reader>(p)); });
  check([](const std::string& p) {
    return forget(first_record<leat::fixed_length_reader>(p, {.record_size = 1}));
  });
  check([](const std::string& p) { return forget(first_record<leat::whole_file_reader>(p)); });
  check([](const std::string& p) { return forget(first_record<leat::tfrecord_reader>(p)); });
  check([](const std::string& p) { return forget(first_by_index(p)); });
  check([](const std::string& p) { return forget(first_whole(p)); });
}

TEST_CASE("links: make_directories follows a link and refuses one that leads nowhere") {
  const temp_dir dir;
  fs::create_directory(dir / "real");
  fs::create_directory_symlink("real", dir / "way");
  leat::block_on(leat::make_directories(dir / "way" + "/deep"));
  CHECK(fs::is_directory(dir / "real" + "/deep"));
  fs::create_symlink("none", dir / "dangling");
  for (const char* below : {"", "/", "/deep"}) {
    const outcome refused = outcome_now(leat::make_directories(dir / "dangling" + below));
    CHECK(refused.code == errc::failed_precondition);
    CHECK(contains(refused.text, dir / "dangling"));
    CHECK(contains(refused.text, "leads nowhere"));
  }
  CHECK_FALSE(fs::exists(dir / "none"));
}

// Checks that a writer replaces a link at its path.
template <class Write>
void check_replaced(const temp_dir& dir, const std::string& target, const Write& write) {
  const std::string link = dir / "link";
  fs::remove(link);
  fs::create_symlink(target, link);
  write(link);
  CHECK(fs::is_regular_file(fs::symlink_status(link)));
  CHECK(fs::file_size(link) > 0);
}

TEST_CASE("links: a new file replaces a link and not its target") {
  const temp_dir dir;
  const std::string old = framed({"old"});
  dir.write("target", old);
  fs::create_directory(dir / "elsewhere");
  dir.write("elsewhere/target", old);
  const auto by_writer = [](const std::string& path) {
    leat::block_on(write_one<leat::tfrecord_writer>(path));
    CHECK(temp_dir::read(path) == framed({"new"}));
  };
  check_replaced(dir, "target", by_writer);
  check_replaced(dir, "elsewhere/target", by_writer);
  check_replaced(dir, "none", by_writer);
  check_replaced(dir, "link", by_writer);  // refers to itself
  const auto as_index = [&](const std::string& path) {
    leat::tfrecord_index_builder builder;
    builder.add(3);
    leat::block_on(
        leat::save_tfrecord_index(dir / "target", std::move(builder).finish({.size = 19}), path));
  };
  check_replaced(dir, "target", as_index);
  CHECK(temp_dir::read(dir / "target") == old);
  CHECK(temp_dir::read(dir / "elsewhere/target") == old);
  CHECK_FALSE(fs::exists(dir / "none"));
}

TEST_CASE("links: does not replace a link to something other than a file") {
  const temp_dir dir;
  fs::create_directory(dir / "directory");
  fs::create_symlink("directory", dir / "link");
  const outcome o = outcome_now(write_one<leat::tfrecord_writer>(dir / "link"));
  CHECK(o.code == errc::invalid_argument);
  CHECK(contains(o.text, "not a regular file, and therefore not replaced"));
  CHECK(fs::is_symlink(dir / "link"));
  CHECK(fs::is_empty(dir / "directory"));
}

TEST_CASE("links: nothing is written through a link at a temporary name") {
  const temp_dir dir;
  dir.write("victim", "as it was");
  fs::create_symlink("victim", dir / "out.partial");
  fs::create_symlink("none", dir / "out.partial1");
  fs::create_symlink("out.partial2", dir / "out.partial2");
  leat::block_on(write_one<leat::tfrecord_writer>(dir / "out"));
  CHECK(temp_dir::read(dir / "out") == framed({"new"}));
  CHECK(temp_dir::read(dir / "victim") == "as it was");
  CHECK_FALSE(fs::exists(dir / "none"));
  for (const char* planted : {"out.partial", "out.partial1", "out.partial2"}) {
    CHECK(fs::is_symlink(dir / planted));
  }
  CHECK_FALSE(fs::exists(fs::symlink_status(dir / "out.partial3")));
}

TEST_CASE("links: appending follows a link") {
  const temp_dir dir;
  dir.write("target", framed({"old"}));
  fs::create_symlink("target", dir / "link");
  leat::block_on(write_one<leat::tfrecord_appender>(dir / "link"));
  CHECK(fs::is_symlink(dir / "link"));
  CHECK(temp_dir::read(dir / "target") == framed({"old", "new"}));
}

}  // namespace links_test
