#include "train/checkpoint/checkpoint_rotation.hpp"

#include <string>
#include <vector>

#include <catch2/catch.hpp>

namespace checkpoint_rotation_test {

using leat::checkpoint_state;
using leat::detail::checkpoint_rotation;
using names = std::vector<std::string>;

names listed(const checkpoint_rotation& r) {
  names all;
  for (const auto& e : r.all()) all.push_back(e.path);
  return all;
}

// Adds a checkpoint and returns the names to delete.
names save(checkpoint_rotation& r, const std::string& name, double now) {
  r.add(name, now);
  names deleted;
  while (const auto gone = r.next_to_delete()) deleted.push_back(gone->path);
  return deleted;
}

checkpoint_rotation next_run(const checkpoint_rotation& before, std::optional<std::size_t> most,
                             double every, double now) {
  const checkpoint_state s = before.state();
  checkpoint_rotation r(most, every, now);
  const std::vector<std::optional<double>> modified(s.all_model_checkpoint_paths.size(), 0.0);
  r.recover(s, modified, now);
  return r;
}

constexpr double hour = 3600;

TEST_CASE(
    "checkpoint_rotation: keeps the newest, and a name that is saved again becomes the newest",
    "[train]") {
  checkpoint_rotation r(2, 0, 100);
  CHECK(save(r, "s1", 101) == names{});
  CHECK(save(r, "s2", 102) == names{});
  CHECK(save(r, "s1", 103) == names{});
  CHECK(listed(r) == names{"s2", "s1"});
  CHECK(save(r, "s3", 104) == names{"s2"});
  CHECK(listed(r) == names{"s1", "s3"});
  CHECK(r.state().model_checkpoint_path == "s3");
  CHECK(r.state().all_model_checkpoint_timestamps == std::vector<double>{103, 104});
}

TEST_CASE("checkpoint_rotation: the newest changes after its deletion, or by name", "[train]") {
  checkpoint_rotation r(3, 0, 100);
  for (const char* const name : {"s1", "s2", "s3"}) save(r, name, 101);
  r.forget("s3");
  CHECK(r.state().model_checkpoint_path == "s2");
  r.make_newest("s1", 105);
  CHECK(listed(r) == names{"s2", "s1"});
  CHECK(r.state().model_checkpoint_path == "s1");
  CHECK(r.state().all_model_checkpoint_timestamps == std::vector<double>{101, 101});
  // A checkpoint that was not listed becomes the newest and is never deleted.
  r.make_newest("kept", 105);
  CHECK(r.state().all_model_checkpoint_paths == names{"s2", "s1", "kept"});
  CHECK(r.state().all_model_checkpoint_timestamps == std::vector<double>{101, 101, 105});
  CHECK(save(r, "s4", 106) == names{});
  CHECK(r.state().all_model_checkpoint_paths == names{"s2", "s1", "s4"});
}

TEST_CASE("checkpoint_rotation: a limit of 0 deletes nothing and lists the newest [62]",
          "[train]") {
  checkpoint_rotation r(0, hour, 100);
  CHECK(save(r, "s1", 101) == names{});
  CHECK(save(r, "s2", 102) == names{});
  CHECK(listed(r).empty());
  CHECK(r.state().all_model_checkpoint_paths == names{"s2"});
  CHECK(r.state().all_model_checkpoint_timestamps == std::vector<double>{102});
}

TEST_CASE("checkpoint_rotation: keeps one checkpoint per keep_every permanently [63]", "[train]") {
  checkpoint_rotation r(2, 0.7, 1000);
  CHECK(save(r, "s1", 1001) == names{});
  CHECK(save(r, "s2", 1001.0001) == names{});
  CHECK(save(r, "s3", 1001.0002) == names{});
  CHECK(listed(r) == names{"s2", "s3"});
  CHECK(save(r, "s4", 1001.0003) == names{"s2"});
  CHECK(listed(r) == names{"s3", "s4"});
}

TEST_CASE("checkpoint_rotation: lists all without a limit, a limit applies from the next save [79]",
          "[train]") {
  checkpoint_rotation r(std::nullopt, 0, 1);
  for (const char* name : {"1", "2", "3", "4"}) CHECK(save(r, name, 10) == names{});
  CHECK(listed(r).size() == 4);
  checkpoint_rotation limited = next_run(r, 3, 0, 11);
  CHECK(listed(limited).size() == 4);
  CHECK(save(limited, "5", 12) == names{"1", "2"});
  CHECK(listed(limited) == names{"3", "4", "5"});
}

TEST_CASE("checkpoint_rotation: permanent checkpoints over three runs [79]", "[train]") {
  checkpoint_rotation first(2, 0, 3);
  double now = 10'000;
  CHECK(save(first, "1", now) == names{});
  CHECK(save(first, "2", now += 3610) == names{});
  checkpoint_rotation second = next_run(first, 2, 1.5 * hour, now);
  CHECK(listed(second) == names{"1", "2"});
  CHECK(save(second, "3", now += 0.2 * hour) == names{});  // 1 is kept
  CHECK(second.state().last_preserved_timestamp == 10'000);
  CHECK(save(second, "4", now += 0.5 * hour) == names{"2"});
  const double fourth = now;
  CHECK(save(second, "5", now += 0.5 * hour) == names{"3"});
  CHECK(second.state().last_preserved_timestamp == 10'000);
  checkpoint_rotation third = next_run(second, 2, 1.5 * hour, now);
  CHECK(listed(third) == names{"4", "5"});
  CHECK(save(third, "6", now += 10) == names{});  // 4 is kept
  CHECK(listed(third) == names{"5", "6"});
  CHECK(third.state().last_preserved_timestamp == fourth);
}

TEST_CASE("checkpoint_rotation: never adopts a permanent checkpoint", "[train]") {
  checkpoint_state s;
  s.model_checkpoint_path = "c";
  s.all_model_checkpoint_paths = {"a", "b", "c"};
  s.all_model_checkpoint_timestamps = {10, 20, 30};
  s.last_preserved_timestamp = 10;
  checkpoint_rotation r(1, 0, 40);
  CHECK_FALSE(r.recover(s, {1, 1, 1}, 40));
  CHECK(listed(r) == names{"b", "c"});
}

TEST_CASE("checkpoint_rotation: does not adopt missing files", "[train]") {
  checkpoint_state s;
  s.model_checkpoint_path = "b";
  s.all_model_checkpoint_paths = {"a", "b"};
  checkpoint_rotation r(5, 0, 40);
  CHECK_FALSE(r.recover(s, {std::nullopt, 30}, 40));
  CHECK(listed(r) == names{"b"});
}

TEST_CASE("checkpoint_rotation: a state without times uses the times of the files", "[train]") {
  checkpoint_state s;
  s.model_checkpoint_path = "b";
  s.all_model_checkpoint_paths = {"a", "b"};
  checkpoint_rotation r(5, 0, 40);
  CHECK_FALSE(r.recover(s, {10, 20}, 40));
  CHECK(listed(r) == names{"a", "b"});
  CHECK(r.state().all_model_checkpoint_timestamps == std::vector<double>{10, 20});
}

TEST_CASE("checkpoint_rotation: after the clock was set back nothing from before is deleted",
          "[train]") {
  checkpoint_state s;
  s.model_checkpoint_path = "b";
  s.all_model_checkpoint_paths = {"a", "b"};
  s.all_model_checkpoint_timestamps = {1000, 2000};
  s.last_preserved_timestamp = 900;
  checkpoint_rotation r(1, 0, 500);
  CHECK(r.recover(s, {1, 1}, 500));
  CHECK(save(r, "c", 501) == names{});
  CHECK(save(r, "d", 502) == names{"c"});
  CHECK(r.state().last_preserved_timestamp == 500);
}

TEST_CASE("checkpoint_rotation: retries a failed deletion", "[train]") {
  checkpoint_rotation r(1, 0, 0);
  r.add("a", 1);
  r.add("b", 2);
  const auto gone = r.next_to_delete();
  REQUIRE(gone);
  r.put_back({*gone});
  CHECK(listed(r) == names{"a", "b"});
  CHECK(save(r, "c", 3) == names{"a", "b"});
}

}  // namespace checkpoint_rotation_test
