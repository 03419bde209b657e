// Values by name: the inputs and the results of a step.

#include "leat/train/monitored/named_values.hpp"

#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "support/refusal.hpp"

namespace named_values_test {

using leat::errc;
using leat::named_values;
using leat_test::contains;

TEST_CASE("named_values: returns values of any type unchanged, in order", "[train]") {
  named_values v;
  v.add("rate", 0.5).add("name", "adam").add("sizes", std::vector<int>{1, 2}).add("steps", 7);
  CHECK(v.get<double>("rate") == 0.5);
  CHECK(v.get<std::string>("name") == "adam");
  CHECK((v.get<std::vector<int>>("sizes") == std::vector<int>{1, 2}));
  CHECK(v.get<int>("steps") == 7);
  CHECK((v.names() == std::vector<std::string>{"rate", "name", "sizes", "steps"}));
  CHECK(v.size() == 4);
  CHECK(v.contains("rate"));
  CHECK_FALSE(v.contains("rat"));
  CHECK(named_values().empty());
}

TEST_CASE("named_values: number() converts any arithmetic type, or is empty", "[train]") {
  named_values v;
  v.add("float", 0.25F).add("int", -3).add("bool", true).add("text", "1");
  CHECK(v.number("float") == 0.25);
  CHECK(v.number("int") == -3.0);
  CHECK(v.number("bool") == 1.0);
  CHECK_FALSE(v.number("text").has_value());
}

TEST_CASE("named_values: rejects a missing, duplicate or differently typed value", "[train]") {
  named_values v;
  CHECK_FAILS(errc::not_found, "the list is empty", v.get<int>("a"));
  v.add("a", 1).add("b", 2);
  CHECK_FAILS(errc::not_found, "the names are 'a', 'b'", v.number("c"));
  CHECK_FAILS(errc::invalid_argument, "'a' has a different type than requested", v.get<long>("a"));
  CHECK_FAILS(errc::already_exists, "duplicate name 'a'", v.add("a", 3));
  CHECK_FAILS(errc::invalid_argument, "name is empty", v.add("", 3));
  CHECK(v.get<int>("a") == 1);
  CHECK(v.size() == 2);
}

}  // namespace named_values_test
