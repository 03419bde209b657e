#include "leat/io/reader/file_prefetcher.hpp"

#include <algorithm>
#include <cerrno>
#include <iterator>
#include <linux/filter.h>
#include <linux/openat2.h>
#include <linux/seccomp.h>
#include <map>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>

#include "support/descriptors.hpp"
#include "support/leat_test.hpp"
#include "support/records/page_cache.hpp"
#include "support/temp_dir.hpp"

namespace file_prefetcher_test {

using leat::file_prefetcher;
using leat::file_prefetcher_options;
using leat::loaded_file;

using contents = std::vector<std::pair<std::string, std::string>>;  // path, text or error

std::string text_of(int i) {
  return std::string(static_cast<std::size_t>(i * 997 % 150'000), static_cast<char>('a' + i % 26));
}

std::vector<std::string> make_files(const temp_dir& dir, int count) {
  std::vector<std::string> paths;
  for (int i = 0; i < count; ++i) paths.push_back(dir.write(std::to_string(i), text_of(i)));
  return paths;
}

void evict(const std::vector<std::string>& paths) {
  for (const std::string& path : paths) leat_test::evict(path);
}

std::string result_of(const loaded_file& file) {
  try {
    return std::string(leat::as_text(file.contents()));
  } catch (const leat::failure& e) {
    return "error: " + std::string(e.what());
  }
}

task<contents> read_all(file_prefetcher& files) {
  contents all;
  loaded_file file;
  while (co_await files.next(file)) all.emplace_back(file.path(), result_of(file));
  co_return all;
}

task<contents> read_list(std::vector<std::string> paths, file_prefetcher_options options = {}) {
  file_prefetcher files(std::move(paths), options);
  contents all = co_await read_all(files);
  co_return all;
}

void check_all(const contents& all, const std::vector<std::string>& paths) {
  REQUIRE(all.size() == paths.size());
  for (std::size_t i = 0; i < all.size(); ++i) {
    CHECK(all[i].first == paths[i]);
    CHECK((all[i].second == text_of(static_cast<int>(i))));
  }
}

TEST_CASE("file_prefetcher: returns complete files in order, cached or not") {
  const temp_dir dir;
  const std::vector<std::string> paths = make_files(dir, 200);
  for (const std::size_t depth : std::vector<std::size_t>{1, 7, 64, 500}) {
    evict(paths);
    check_all(leat::block_on(read_list(paths, {.depth = depth})), paths);
    check_all(leat::block_on(read_list(paths, {.depth = depth})), paths);
  }
}

TEST_CASE("file_prefetcher: direct reads return the same for any contents of the last sector") {
  const temp_dir dir;
  std::vector<std::string> paths;
  contents expected;
  for (const int size : {1, 511, 4095, 4096, 4097, 131'071, 131'072, 131'073, 2'100'000, 0}) {
    const std::string text(static_cast<std::size_t>(size), static_cast<char>('a' + size % 26));
    paths.push_back(dir.write(std::to_string(size), text));
    expected.emplace_back(paths.back(), text);
  }
  for (const std::size_t depth : std::vector<std::size_t>{1, 3, 64}) {
    for (const std::size_t ahead : std::vector<std::size_t>{1, 200'000, 64 << 20}) {
      const contents all = leat::block_on(
          read_list(paths, {.depth = depth, .max_bytes_ahead = ahead, .direct = true}));
      CHECK((all == expected));
    }
  }
  const contents made_up = leat::block_on(read_list({"/proc/self/status"}, {.direct = true}));
  CHECK(made_up[0].second.starts_with("Name:"));
}

TEST_CASE("file_prefetcher: a file that cannot be read is a result that names it") {
  const temp_dir dir;
  const std::vector<std::string> good = make_files(dir, 3);
  REQUIRE(::mkfifo((dir / "pipe").c_str(), 0600) == 0);
  const std::vector<std::string> paths = {
      good[0], dir / "no", good[1], dir / ".", dir / "pipe", std::string("a\0b", 3), good[2]};
  const contents all = leat::block_on(read_list(paths));
  REQUIRE(all.size() == paths.size());
  CHECK(all[0].second == text_of(0));
  CHECK(all[1].second.starts_with("error: " + (dir / "no") + ": cannot open"));
  CHECK(all[2].second == text_of(1));
  CHECK(all[3].second.starts_with("error: " + (dir / ".") + ": cannot read"));
  CHECK(all[4].second.starts_with("error: " + (dir / "pipe") + ": pipe or device"));
  CHECK(contains(all[5].second, "NUL"));
  CHECK(all[6].second == text_of(2));
}

LEAT_REAL_TIME_TEST(
    "file_prefetcher: after an error, later files are returned only when they are read") {
  const temp_dir dir;
  std::vector<std::string> paths = make_files(dir, 5);
  paths[2] = dir / "no";
  file_prefetcher files(paths, {.stop_on_first_error = true});
  loaded_file file;
  int read = 0;
  int refused = 0;
  for (int i = 0; i < 4; ++i) {
    try {
      read += co_await files.next(file) ? 1 : 0;
    } catch (const leat::failure& e) {
      CHECK(e.code() == errc::not_found);
      ++refused;
    }
  }
  CHECK(read == 2);
  CHECK(refused == 2);
  CHECK(files.count() >= 1);
  dir.write("no", "here it is");
  co_await files.next(file);
  CHECK(leat::as_text(file.contents()) == "here it is");
  while (co_await files.next(file)) ++read;
  CHECK(read == 4);
}

TEST_CASE("file_prefetcher: reads files without a size within the limits") {
  const temp_dir dir;
  const std::string large = dir.write("large", std::string(3'000'000, 'x'));
  const std::string empty = dir.write("empty", "");
  CHECK(leat::block_on(read_list({large}))[0].second.size() == 3'000'000);
  CHECK(leat::block_on(read_list({empty}))[0].second.empty());
  // The kernel states a size of 0 for these files. The second one is larger than the initial
  // buffer.
  CHECK(leat::block_on(read_list({"/proc/self/status"}))[0].second.starts_with("Name:"));
  CHECK(leat::block_on(read_list({"/proc/kallsyms"}))[0].second.size() > 200'000);
  const file_prefetcher_options small{.max_file_size = 1000};
  CHECK(contains(leat::block_on(read_list({large}, small))[0].second, "above the limit"));
  CHECK(
      contains(leat::block_on(read_list({"/proc/kallsyms"}, small))[0].second, "above the limit"));
  for (const std::size_t wrong : {std::size_t{0}, SIZE_MAX}) {
    CHECK_THROWS_WITH(
        file_prefetcher(file_prefetcher_options{.depth = wrong}),
        Catch::Contains("file_prefetcher_options::depth is " + std::to_string(wrong)));
  }
}

TEST_CASE("file_prefetcher: reads ahead within its limit") {
  const temp_dir dir;
  std::vector<std::string> paths;
  for (int i = 0; i < 30; ++i) {
    paths.push_back(dir.write(std::to_string(i), std::string(1'000'000, 'x')));
  }
  evict(paths);
  // With a limit below the size of one file, the files are read one at a time.
  const contents all = leat::block_on(read_list(paths, {.depth = 30, .max_bytes_ahead = 500'000}));
  REQUIRE(all.size() == paths.size());
  for (const auto& [path, text] : all) CHECK(text.size() == 1'000'000);
}

LEAT_REAL_TIME_TEST("file_prefetcher: accepts paths one by one") {
  const temp_dir dir;
  const std::vector<std::string> paths = make_files(dir, 50);
  evict(paths);
  file_prefetcher files(file_prefetcher_options{.depth = 8});
  loaded_file file;
  CHECK_FALSE(co_await files.next(file));
  std::size_t added = 0;
  std::size_t read = 0;
  while (read < paths.size()) {
    while (added < paths.size() && files.has_capacity()) files.add(paths[added++]);
    CHECK(files.count() <= 8);
    REQUIRE(co_await files.next(file));
    CHECK(file.path() == paths[read]);
    CHECK((file.contents().size() == text_of(static_cast<int>(read)).size()));
    ++read;
  }
  // Adds all paths without a check of the free capacity.
  for (const std::string& path : paths) files.add(path);
  CHECK(files.count() == paths.size());
  CHECK((co_await read_all(files)).size() == paths.size());
}

LEAT_REAL_TIME_TEST("file_prefetcher: files outlive their reader") {
  const temp_dir dir;
  const std::vector<std::string> paths = make_files(dir, 20);
  std::map<std::string, loaded_file> kept;
  {
    file_prefetcher files(paths);
    loaded_file file;
    while (co_await files.next(file)) kept[file.path()] = file;
  }
  for (std::size_t i = 0; i < paths.size(); ++i) {
    CHECK((leat::as_text(kept[paths[i]].contents()) == text_of(static_cast<int>(i))));
  }
}

TEST_CASE("file_prefetcher: destruction leaks no descriptor") {
  const temp_dir dir;
  const std::vector<std::string> paths = make_files(dir, 100);
  leat::block_on(read_list(paths));  // creates cached objects
  const std::size_t before = leat_test::open_descriptors();
  for (int round = 0; round < 10; ++round) {
    evict(paths);
    leat::block_on([](std::vector<std::string> all) -> task<> {
      file_prefetcher files(all);
      loaded_file file;
      for (int i = 0; i < 3; ++i) co_await files.next(file);
    }(paths));
    CHECK(leat_test::open_descriptors() == before);
  }
}

LEAT_REAL_TIME_TEST("file_prefetcher: a stop loses no file") {
  const temp_dir dir;
  const std::vector<std::string> paths = make_files(dir, 40);
  evict(paths);
  file_prefetcher files(paths, {.depth = 4});
  contents all;
  const auto read_on = [](file_prefetcher& from, contents& to, leat::task_group& g) -> task<> {
    loaded_file file;
    while (co_await from.next(file)) {
      to.emplace_back(file.path(), result_of(file));
      if (to.size() % 5 == 0) g.request_stop();
    }
  };
  while (all.size() < paths.size()) {
    leat::task_group group;
    group.spawn(read_on(files, all, group));
    co_await group.join();
  }
  check_all(all, paths);
}

TEST_CASE("file_prefetcher: lets other tasks run while it reads cached files") {
  const temp_dir dir;
  const std::vector<std::string> paths = make_files(dir, 100);  // 4.9 MB
  std::size_t turns = 0;
  bool done = false;
  const auto others = [&]() -> task<> {
    while (!done) {
      ++turns;
      co_await leat::this_task::yield();
    }
  };
  contents all;
  const auto both = [&]() -> task<> {
    leat::task_group group("others");
    group.spawn(others());
    all = co_await read_list(paths);
    done = true;
    co_await group.join();
  };
  leat::block_on(both());
  check_all(all, paths);
  CHECK(turns >= 10);  // 256 KiB each, and the rest of the last file
}

// Makes fcntl(F_SETFL) fail with EPERM, in this thread and in threads that start later.
bool refuse_set_flags() {
  sock_filter steps[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_fcntl, 0, 3),
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, args[1])),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, F_SETFL, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  sock_fprog program{static_cast<unsigned short>(std::size(steps)), steps};
  return ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

// Returns true if the kernel reports immediately that a file is in its caches.
bool is_told_as_cached(const std::string& path) {
  open_how how{};
  how.flags = O_RDONLY;
  how.resolve = RESOLVE_CACHED;
  const long f = ::syscall(SYS_openat2, AT_FDCWD, path.c_str(), &how, sizeof how);
  if (f < 0) return false;
  char byte = 0;
  iovec to{&byte, 1};
  const bool cached = ::preadv2(static_cast<int>(f), &to, 1, 0, RWF_NOWAIT) == 1;
  ::close(static_cast<int>(f));
  return cached;
}

task<std::string> read_without_set_flags(std::vector<std::string> paths) {
  const file_prefetcher_options usual;
  const contents before = co_await read_list(paths, usual);  // completes the one-time setup
  if (before.size() != paths.size()) co_return "not read";
  if (!is_told_as_cached(paths[1])) co_return "not cached";
  if (!refuse_set_flags()) co_return "no filter";
  const contents all = co_await read_list(paths, usual);
  std::size_t right = 0;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (all[i].second == text_of(static_cast<int>(i))) ++right;
  }
  co_return std::to_string(right);
}

TEST_CASE("file_prefetcher: a cached file needs only open, fstat, read and close") {
  const temp_dir dir;
  const std::vector<std::string> paths = make_files(dir, 20);
  const std::string said =
      leat_test::run_in_child([&] { return leat::block_on(read_without_set_flags(paths)); });
  if (said != "20") WARN(said);
  CHECK((said == "20" || said == "not cached" || said == "no filter"));
}

TEST_CASE("file_prefetcher: few descriptors are enough") {
  const temp_dir dir;
  const std::vector<std::string> paths = make_files(dir, 100);
  evict(paths);
  const std::string said = leat_test::run_in_child([&] {
    const rlimit few{leat_test::open_descriptors() + 12, leat_test::open_descriptors() + 12};
    ::setrlimit(RLIMIT_NOFILE, &few);
    const contents all = leat::block_on(read_list(paths));
    std::size_t right = 0;
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (all[i].second == text_of(static_cast<int>(i))) ++right;
    }
    return std::to_string(right);
  });
  CHECK(said == "100");
}

}  // namespace file_prefetcher_test
