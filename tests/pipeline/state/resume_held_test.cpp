// Pipelines of several ranks whose stages hold elements, or have delivered some results of an
// element. Another number of ranks continues with the rest of all of them, each element once.

#include <semaphore>

#include "input/few_files.hpp"
#include "leat/io/reader/tfrecord_reader.hpp"
#include "pipeline/saved_stages.hpp"
#include "pipeline/source/dealing.hpp"

namespace resume_held_test {

using namespace leat_test;

TEST_CASE("resume: elements of shuffle buffers are redistributed", "[pipeline]") {
  const few_files lines;
  for (const std::size_t capacity : {1U, 7U, 20U, 500U}) {
    check_dealing_everywhere([&](std::uint64_t rank, std::uint64_t world_size) {
      return lines.read(rank, world_size).shuffle({.capacity = capacity, .seed = 1});
    });
  }
}

TEST_CASE("resume: buffers of several epochs and batches are redistributed", "[pipeline]") {
  const few_files lines;
  check_dealing_everywhere([&](std::uint64_t rank, std::uint64_t world_size) {
    return lines.read(rank, world_size, 3)
        .prefetch(1, "read ahead")
        .shuffle({.capacity = 25, .seed = 1})
        .shuffle({.capacity = 6, .name = "again"})
        .batch({.batch_size = 4})
        .map("join", join_batch, {.workers = 2})
        .prefetch(2);
  });
}

TEST_CASE("resume: buffers of compressed records are redistributed", "[pipeline]") {
  const temp_dir dir;
  leat::block_on(write_record_files(dir, 200, leat::compression::gzip));
  check_dealing_everywhere([&](std::uint64_t rank, std::uint64_t world_size) {
    return leat::read_files<leat::tfrecord_reader>(
               {.files = {dir / "records???"},
                .interleave = 2,
                .world = {.rank = rank, .world_size = world_size},
                .reader = {.compression = leat::compression::gzip}})
        .shuffle({.capacity = 30, .seed = 9})
        .batch({.batch_size = 3})
        .map("join", join_rows);
  });
}

TEST_CASE("resume: elements of a flat_map are redistributed", "[pipeline]") {
  const few_files lines;
  for (const std::size_t workers : {0U, 2U}) {
    check_dealing_everywhere([&](std::uint64_t rank, std::uint64_t world_size) {
      return lines.read(rank, world_size).flat_map("parts", parts, {.workers = workers});
    });
    check_dealing_everywhere([&](std::uint64_t rank, std::uint64_t world_size) {
      return lines.read(rank, world_size).map("odd", odd, {.workers = workers});
    });
    check_dealing_everywhere([&](std::uint64_t rank, std::uint64_t world_size) {
      return lines.read(rank, world_size)
          .flat_map("parts", parts, {.workers = workers})
          .map("same", [](std::string text) { return text; })
          .flat_map("parts of parts", parts)
          .map("odd", odd, {.workers = workers});
    });
  }
  check_dealing_everywhere([&](std::uint64_t rank, std::uint64_t world_size) {
    return lines.read(rank, world_size, 2)
        .map("odd", odd)
        .flat_map("parts", parts, {.workers = 2})
        .shuffle({.capacity = 20, .seed = 4})
        .flat_map("parts of parts", parts)
        .prefetch(1)
        .map("odd ones", odd, {.workers = 2})
        .shuffle({.capacity = 10, .seed = 5, .name = "again"});
  });
}

TEST_CASE("resume: the rest of a flat_map passes through all stages", "[pipeline]") {
  const few_files lines;
  for (const std::size_t workers : {0U, 2U}) {
    check_resuming([&] {
      return lines.read(0, 1, 2)
          .flat_map("parts", parts, {.workers = workers})
          .map("odd", odd, {.workers = workers});
    });
    check_resuming([&] {
      return lines.read(0, 1, 2)
          .flat_map("parts", parts)
          .flat_map("parts of parts", parts, {.workers = workers})
          .map("same", [](std::string text) { return text; });
    });
    check_resuming([&] {
      return lines.read(0, 1, 2)
          .batch({.batch_size = 7})
          .flat_map("lines", [](const texts& batch) { return batch; }, {.workers = workers})
          .map("odd", odd)
          .flat_map("parts", parts);
    });
  }
}

TEST_CASE("resume: a buffer above its capacity returns the surplus first", "[pipeline]") {
  const few_files lines;
  const auto read = [&](std::uint64_t rank, std::uint64_t world_size) {
    return lines.read(rank, world_size).shuffle({.capacity = 12, .seed = 1});
  };
  texts states(3);
  for (std::uint64_t r = 0; r < 3; ++r) go_on_with(read(r, 3), {}, 2, &states[r]);
  auto alone = read(0, 1);
  const auto body = [&]() -> leat::task<> {
    co_await alone.restore_ranks(states);
    std::vector<std::size_t> held;
    for (std::size_t i = 0; i < 30; ++i) {
      static_cast<void>(co_await alone.next());
      const auto now = stages_of(alone.save());
      held.push_back(state_in<leat::detail::shuffle_state>(now.back()).held.size());
    }
    CHECK(held[0] > 20);
    CHECK(std::is_sorted(held.rbegin(), held.rend()));
    CHECK(held.back() == 12);
    co_await alone.stop();
  };
  leat::block_on(body());
}

TEST_CASE("resume: the rest of an element is counted once", "[pipeline]") {
  const few_files lines;
  for (const std::size_t workers : {0U, 2U}) {
    const auto make = [&] {
      return lines.read(0, 1).flat_map("parts", parts, {.workers = workers});
    };
    const std::string state = run_and_save(make(), 1).second.back();
    auto p = make();
    const texts rest = leat::block_on(go_on(p, state));
    CHECK(rest.front() == "90b");
    CHECK(p.stages()[2]->records() == rest.size());
  }
}

// A range of the characters of a text, which may throw.
struct half_parts {
  struct iterator {
    using value_type = std::string;
    using difference_type = std::ptrdiff_t;
    const half_parts* of = nullptr;
    std::size_t at = 0;
    std::string operator*() const {
      if (of->fails && of->text == "100" && at == 2) throw std::runtime_error("a transient lookup");
      return of->text + char('a' + at);
    }
    iterator& operator++() {
      ++at;
      return *this;
    }
    void operator++(int) { ++at; }
    bool operator==(const iterator& o) const { return at == o.at; }
  };
  using value_type = std::string;
  [[nodiscard]] iterator begin() const { return {this, 0}; }
  [[nodiscard]] iterator end() const { return {this, text.size()}; }
  std::string text;
  bool fails = false;
};

TEST_CASE("resume: the rest of a flat_map element follows an error in it", "[pipeline]") {
  const few_files lines;
  bool fails = true;
  const auto make = [&](std::uint64_t rank, std::uint64_t world_size) {
    return lines.read(rank, world_size).flat_map("half", [&](std::string text) {
      return half_parts{std::move(text), fails};
    });
  };
  const auto [before, state] = read_to_error(make(0, 1));
  REQUIRE(before.size() > 2);
  CHECK(before.back() == "100b");
  CHECK(read_to_error(make(0, 1), state).first.empty());
  fails = false;
  const texts all = elements_of(make(0, 1));
  CHECK(elements_after(make(0, 1), state) == elements_from(all, before.size()));
  texts seen = before;
  for (std::uint64_t r = 0; r < 2; ++r) {
    const texts rest = go_on_with(make(r, 2), {state});
    seen.insert(seen.end(), rest.begin(), rest.end());
  }
  CHECK(contents(seen) == contents(all));
}

TEST_CASE("pipeline: an error within an element, with workers in completion order", "[pipeline]") {
  const temp_dir dir;
  dir.write("a", "1\n");
  std::string lines;
  for (int i = 50; i < 150; ++i) lines += std::to_string(i) + '\n';
  dir.write("b", lines);
  const leat::runtime rt({.threads = 2});
  std::binary_semaphore b_is_there(0);
  const auto half = [&](std::string text) {
    if (text == "1") b_is_there.acquire();
    return half_parts{std::move(text), true};
  };
  auto p = lines_of({.files = {dir / "?"}},
                    {.order = leat::ordering::free, .workers = leat::schedulers_of(rt)})
               .flat_map("half", half, {.workers = 2});
  texts all;
  const auto read = [&]() -> leat::task<> {
    while (auto text = co_await p.next()) {
      if (all.empty()) b_is_there.release();
      all.push_back(std::move(*text));
    }
  };
  CHECK_THROWS_AS(leat::block_on(read()), std::runtime_error);
  REQUIRE(all.size() == 102);
  CHECK(all.front() == "50a");
  CHECK(all.back() == "100b");
}

TEST_CASE("resume: rejects a partly consumed element that produces fewer elements", "[pipeline]") {
  const few_files lines;
  std::size_t count = 3;
  const auto make = [&] {
    return lines.read(0, 1).flat_map("some", [&](const std::string& t) { return texts(count, t); });
  };
  const std::string state = run_and_save(make(), 5).second.back();
  count = 1;
  CHECK(contains(
      restore_error(make(), state),
      "stage 'some': state cannot be restored: the function returned other elements than before"));
}

}  // namespace resume_held_test
