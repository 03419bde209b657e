#include "leat/train/checkpoint/checkpoint_registry.hpp"

#include <array>
#include <complex>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "leat/base/error.hpp"
#include "support/outcome_of.hpp"
#include "support/refusal.hpp"

namespace checkpoint_registry_test {

using leat::checkpoint_registry;
using leat_test::contains;
using leat_test::outcome;
using leat_test::outcome_of;

enum class mode : int { off, on };

struct point {
  float x, y, z;
};

struct with_view {
  std::string save() const { return "v"; }
  void restore(std::string_view) {}
};
struct with_task {
  std::string save() { return "t"; }
  leat::task<void> restore(std::string) { co_return; }
};
struct with_half {
  std::string save() const { return "h"; }
};

static_assert(leat::checkpointable<with_view>);
static_assert(leat::checkpointable<with_task>);
static_assert(!leat::checkpointable<with_half>);
static_assert(!leat::checkpointable<std::string>);

// Type, element size and size in bytes of the last added entry.
struct seen {
  std::string type;
  std::size_t element_size;
  std::size_t bytes;
  bool operator==(const seen&) const = default;
};

seen last_of(const checkpoint_registry& r) {
  auto& item = *r.items().back();
  return {item.type(), item.element_size(), item.save(false).bytes().size()};
}

TEST_CASE("checkpoint_registry: everything has a type and a size", "[train]") {
  checkpoint_registry r;
  const auto check = [&](const seen& expected) { CHECK(last_of(r) == expected); };
  std::int64_t step = 1;
  r.add("step", step);
  check({"int64", 8, 8});
  long long other = 1;
  r.add("long long", other);
  check({"int64", 8, 8});
  bool flag = true;
  r.add("flag", flag);
  check({"bool", 1, 1});
  mode m = mode::on;
  r.add("enum", m);
  check({"", 4, 4});
  point p{};
  r.add("struct", p);
  check({"", 12, 12});
  std::array<double, 3> fixed{};
  r.add("std::array", fixed);
  check({"float64", 8, 24});
  int plain[5] = {};
  r.add("array", plain);
  check({"int32", 4, 20});
  std::vector<float> weights(7);
  r.add("vector", weights);
  check({"float32", 4, 28});
  r.add("span", std::span(weights).first(2));
  check({"float32", 4, 8});
  std::span<float> view = weights;
  r.add("a span that has a name", view);
  check({"float32", 4, 28});
  std::vector<point> points(2);
  r.add("points", points);
  check({"", 12, 24});
  std::string text = "hello";
  r.add("text", text);
  check({"string", 1, 5});
  with_view v;
  r.add("object", v);
  check({"object", 1, 1});
  with_task t;
  r.add("object that restores later", t);
  check({"object", 1, 1});
  CHECK(r.size() == 14);
}

TEST_CASE("checkpoint_registry: a copy keeps the old value, a view shows the current value",
          "[train]") {
  checkpoint_registry r("model");
  CHECK(r.identity() == "model");
  std::vector<char> letters = {'a', 'b'};
  r.add("letters", letters);
  const auto copy = r.items()[0]->save(true);
  const auto view = r.items()[0]->save(false);
  letters[0] = 'x';
  CHECK(leat::as_text(copy.bytes()) == "ab");
  CHECK(leat::as_text(view.bytes()) == "xb");
}

TEST_CASE("checkpoint_registry: rejects a duplicate and an empty name [78]", "[train]") {
  checkpoint_registry r;
  int a = 1;
  int b = 2;
  r.add("a", a);
  CHECK_FAILS(leat::errc::already_exists, "duplicate name 'a'", r.add("a", b));
  CHECK_FAILS(leat::errc::invalid_argument, "checkpoint_registry: name is empty", r.add("", b));
  const outcome long_one = outcome_of([&] { r.add(std::string(70'000, 'n'), b); });
  CHECK(long_one.code == leat::errc::invalid_argument);
  CHECK(contains(long_one.text, "name of 70000 bytes is too long: the limit is 65535 bytes"));
  CHECK(long_one.text.size() < 200);
  const outcome identity = outcome_of([] { checkpoint_registry of(std::string(65'536, 'n')); });
  CHECK(contains(identity.text, "identity of 65536 bytes is too long"));
  CHECK(r.size() == 1);
}

}  // namespace checkpoint_registry_test
