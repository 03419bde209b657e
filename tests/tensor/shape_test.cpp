#include "leat/tensor/shape.hpp"

#include "tensor/plain_test.hpp"

using leat::generalize_shapes;
using leat::intersect_shapes;
using leat::partial_shape;
using leat::shape;
using leat::to_string;
using leat::unknown_dimension;

namespace shape_test {

constexpr std::int64_t any = unknown_dimension;
constexpr std::int64_t huge = std::int64_t{1} << 40;

TEST_CASE("shape: a scalar has one value and no dimension") {
  const shape s;
  CHECK(s.rank() == 0);
  CHECK(s.count() == 1);
  CHECK(to_string(s) == "[]");
}

TEST_CASE("shape: dimensions, their product and their text") {
  const shape s{2, 3, 4};
  CHECK(s.rank() == 3);
  CHECK(s[0] == 2);
  CHECK(s[2] == 4);
  CHECK(s.count() == 24);
  CHECK(to_string(s) == "[2,3,4]");
  CHECK(shape{3, 0, 2}.count() == 0);
  CHECK(s != shape{2, 3});
  CHECK(s == shape(s.dimensions()));
}

TEST_CASE("shape: copies and moves any rank") {
  for (const std::size_t rank : {0U, 1U, 4U, 5U, 9U}) {
    const std::vector<std::int64_t> dimensions(rank, 2);
    const shape s{std::span(dimensions)};
    CHECK(s.count() == std::size_t{1} << rank);
    shape copy = s;
    CHECK(copy == s);
    shape moved = std::move(copy);
    CHECK(moved == s);
    copy = s;
    CHECK(copy == s);
    shape other{7, 7, 7, 7, 7};
    other = std::move(copy);
    CHECK(other == s);
    CHECK(other.count() == s.count());
    CHECK(copy.count() == 0);  // NOLINT(bugprone-use-after-move): that is the promise
  }
}

TEST_CASE("shape: refuses invalid dimensions") {
  CHECK_REFUSED("[2,-3]: dimension -3 is negative", shape{2, -3});
  CHECK_REFUSED("more values than 64 bits can count", shape{huge, huge});
  CHECK(shape{huge, huge, 0}.count() == 0);  // in whatever order
  CHECK(shape{0, huge, huge}.count() == 0);
  CHECK_REFUSED("[?,-2]: dimension -2", partial_shape{any, -2});
  CHECK_REFUSED("more values", partial_shape{huge, any, huge});
}

TEST_CASE("partial_shape: text and what is known") {
  CHECK(to_string(partial_shape{}) == "[]");
  CHECK(to_string(partial_shape{any, 3}) == "[?,3]");
  CHECK(to_string(partial_shape::unknown_rank()) == "<unknown>");
  CHECK(partial_shape{2, 3}.is_fully_defined());
  CHECK(partial_shape{}.is_fully_defined());
  CHECK_FALSE(partial_shape{any}.is_fully_defined());
  CHECK_FALSE(partial_shape::unknown_rank().is_fully_defined());
  CHECK(to_string(partial_shape{any, 3}.batch_of(2)) == "[2,?,3]");
  CHECK(partial_shape::unknown_rank().batch_of(2) == partial_shape::unknown_rank());
  CHECK(partial_shape(shape{2, 3}) == partial_shape{2, 3});
  CHECK(partial_shape{} != partial_shape::unknown_rank());
}

TEST_CASE("partial_shape: compatible is equal in all that both know") {
  const partial_shape s{any, 3};
  CHECK(s.is_compatible_with(shape{5, 3}));
  CHECK(s.is_compatible_with(shape{0, 3}));
  CHECK_FALSE(s.is_compatible_with(shape{3, 4}));
  CHECK_FALSE(s.is_compatible_with(shape{3}));
  CHECK(s.is_compatible_with(partial_shape{2, any}));
  CHECK_FALSE(s.is_compatible_with(partial_shape{2, 4}));
  CHECK_FALSE(s.is_compatible_with(partial_shape{any, any, any}));
  CHECK(partial_shape::unknown_rank().is_compatible_with(shape{1, 2, 3}));
  CHECK(s.is_compatible_with(partial_shape::unknown_rank()));
}

TEST_CASE("intersect_shapes: keeps what either shape knows") {
  CHECK(intersect_shapes({any, 3}, {2, any}) == partial_shape{2, 3});
  CHECK(intersect_shapes({any, any}, {0, any}) == partial_shape{0, any});
  CHECK(intersect_shapes(partial_shape::unknown_rank(), {2, any}) == partial_shape{2, any});
  CHECK(intersect_shapes({2, any}, partial_shape::unknown_rank()) == partial_shape{2, any});
  CHECK_REFUSED("[?,3] and [2,4] are not", intersect_shapes({any, 3}, {2, 4}));
}

TEST_CASE("generalize_shapes: keeps what both shapes have in common") {
  const auto unknown = partial_shape::unknown_rank();
  CHECK(generalize_shapes({2, 3}, {2, 4}) == partial_shape{2, any});
  CHECK(generalize_shapes({any}, {3}) == partial_shape{any});
  CHECK(generalize_shapes(partial_shape{1}, {1, 1}) == unknown);
  CHECK(generalize_shapes(unknown, {}) == unknown);
  CHECK(generalize_shapes(partial_shape{}, {}) == partial_shape{});
}

}  // namespace shape_test
