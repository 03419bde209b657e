#include "leat/tensor/dlpack.hpp"

#include <type_traits>

#include "leat/tensor/stacking.hpp"
#include "tensor/plain_test.hpp"

using leat::dl_managed_tensor;
using leat::dl_managed_tensor_versioned;
using leat::dl_tensor;
using leat::dtype;
using leat::from_dlpack;
using leat::tensor;
using leat::to_dlpack;
using leat::to_dlpack_versioned;

// As dlpack.h has them, on machines of 64 bits.
static_assert(std::is_standard_layout_v<dl_managed_tensor_versioned>);
static_assert(offsetof(dl_tensor, device) == 8 && offsetof(dl_tensor, ndim) == 16);
static_assert(offsetof(dl_tensor, dtype) == 20 && offsetof(dl_tensor, shape) == 24);
static_assert(offsetof(dl_tensor, strides) == 32 && offsetof(dl_tensor, byte_offset) == 40);
static_assert(sizeof(dl_tensor) == 48);
static_assert(offsetof(dl_managed_tensor, manager_ctx) == 48);
static_assert(offsetof(dl_managed_tensor, deleter) == 56 && sizeof(dl_managed_tensor) == 64);
static_assert(offsetof(dl_managed_tensor_versioned, manager_ctx) == 8);
static_assert(offsetof(dl_managed_tensor_versioned, deleter) == 16);
static_assert(offsetof(dl_managed_tensor_versioned, flags) == 24);
static_assert(offsetof(dl_managed_tensor_versioned, dl_tensor) == 32);

namespace dlpack_test {

tensor numbers() { return tensor::of<std::int32_t>({2, 3}, {1, 2, 3, 4, 5, 6}); }

// A tensor of another library, whose deleter counts.
struct foreign {
  explicit foreign(std::vector<std::int64_t> s, std::vector<std::int64_t> by = {})
      : shape(std::move(s)), strides(std::move(by)) {
    managed.dl_tensor.data = values;
    managed.dl_tensor.dtype = {.code = 0, .bits = 16, .lanes = 1};
    managed.dl_tensor.ndim = static_cast<std::int32_t>(shape.size());
    managed.dl_tensor.shape = shape.data();
    managed.dl_tensor.strides = strides.empty() ? nullptr : strides.data();
    managed.manager_ctx = this;
    managed.deleter = [](auto* self) { ++static_cast<foreign*>(self->manager_ctx)->deleted; };
  }

  std::vector<std::int64_t> shape;
  std::vector<std::int64_t> strides;
  std::int16_t values[12] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11};
  dl_managed_tensor managed;
  int deleted = 0;
};

TEST_CASE("to_dlpack: exports the values without a copy") {
  tensor t = numbers();
  const void* const values = t.values<std::int32_t>().data();
  dl_managed_tensor* const out = to_dlpack(std::move(t));
  const dl_tensor& view = out->dl_tensor;
  CHECK(view.data == values);
  CHECK(view.byte_offset == 0);
  CHECK(view.device.device_type == 1);
  CHECK(view.dtype.code == 0);
  CHECK(view.dtype.bits == 32);
  CHECK(view.dtype.lanes == 1);
  REQUIRE(view.ndim == 2);
  CHECK(view.shape[0] == 2);
  CHECK(view.shape[1] == 3);
  CHECK(view.strides[0] == 3);
  CHECK(view.strides[1] == 1);
  out->deleter(out);
}

TEST_CASE("to_dlpack: keeps the values until the deleter is called") {
  tensor t = numbers();
  dl_managed_tensor* const first = to_dlpack(t);
  dl_managed_tensor_versioned* const second = to_dlpack_versioned(t);
  CHECK(t.is_shared());
  first->deleter(first);
  CHECK(t.is_shared());
  second->deleter(second);
  CHECK_FALSE(t.is_shared());
}

TEST_CASE("to_dlpack_versioned: marks shared values as read-only") {
  tensor t = numbers();
  dl_managed_tensor_versioned* const shared = to_dlpack_versioned(t);
  CHECK(shared->version.major == 1);
  CHECK(shared->flags == dl_managed_tensor_versioned::read_only);
  shared->deleter(shared);
  dl_managed_tensor_versioned* const own = to_dlpack_versioned(std::move(t));
  CHECK(own->flags == 0);
  static_cast<std::int32_t*>(own->dl_tensor.data)[0] = 7;
  CHECK(from_dlpack(own).values<std::int32_t>()[0] == 7);
}

TEST_CASE("to_dlpack: exports and imports every dtype except string") {
  for (int i = 0; i <= static_cast<int>(dtype::string); ++i) {
    const auto type = static_cast<dtype>(i);
    tensor t(type, {3, 2});
    if (type == dtype::string) {
      CHECK_REFUSED("DLPack: tensor of type string cannot be exported", to_dlpack(t) != nullptr);
      CHECK_FALSE(t.is_shared());
      continue;
    }
    CHECK(from_dlpack(to_dlpack(t)) == t);
    CHECK(from_dlpack(to_dlpack_versioned(t)) == t);
  }
  for (const leat::shape& s :
       {leat::shape{}, leat::shape{0}, leat::shape{4, 0, 2}, leat::shape{1, 2, 3, 4, 5}}) {
    const tensor t(dtype::float64, s);
    dl_managed_tensor* const out = to_dlpack(t);
    CHECK((out->dl_tensor.data == nullptr) == (t.count() == 0));
    CHECK(from_dlpack(out) == t);
  }
}

TEST_CASE("from_dlpack: reads values with and without strides and an offset") {
  foreign transposed({3, 2}, {1, 6});
  transposed.managed.dl_tensor.byte_offset = 2;
  CHECK(from_dlpack(&transposed.managed) == tensor::of<std::int16_t>({3, 2}, {1, 7, 2, 8, 3, 9}));
  CHECK(transposed.deleted == 1);
  foreign backwards({4}, {-2});
  backwards.managed.dl_tensor.byte_offset = 14;
  CHECK(from_dlpack(&backwards.managed) == tensor::of<std::int16_t>({4}, {7, 5, 3, 1}));
  foreign compact({2, 2});
  CHECK(from_dlpack(&compact.managed) == tensor::of<std::int16_t>({2, 2}, {0, 1, 2, 3}));
  foreign booleans({4});
  booleans.managed.dl_tensor.dtype = {.code = 6, .bits = 8, .lanes = 1};
  booleans.values[1] = 0x0300;
  CHECK(from_dlpack(&booleans.managed) == tensor::of<bool>({4}, {false, false, false, true}));
}

TEST_CASE("from_dlpack: refuses and releases an unsupported tensor") {
  const auto refused = [](auto change) {
    foreign f({2});
    change(f.managed);
    const std::string said = refusal([&] { return from_dlpack(&f.managed).count(); });
    CHECK(f.deleted == 1);
    return said;
  };
  CHECK(contains(refused([](auto& m) { m.dl_tensor.device.device_type = 2; }), "type 2"));
  CHECK(contains(refused([](auto& m) { m.dl_tensor.dtype.lanes = 4; }), "16 bits and 4 lanes"));
  CHECK(contains(refused([](auto& m) { m.dl_tensor.dtype.code = 8; }), "code 8"));
  CHECK(contains(refused([](auto& m) { m.dl_tensor.ndim = -1; }), "-1 dimensions"));
  CHECK(contains(refused([](auto& m) { m.dl_tensor.shape[0] = -2; }), "is negative"));
  CHECK_REFUSED("pointer to the tensor is null",
                from_dlpack(static_cast<dl_managed_tensor*>(nullptr)).count());
  dl_managed_tensor_versioned* const later = to_dlpack_versioned(numbers());
  later->version.major = 2;
  CHECK_REFUSED("version 2", from_dlpack(later).count());
}

}  // namespace dlpack_test
