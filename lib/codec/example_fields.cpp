#include "leat/codec/example_fields.hpp"

#include <algorithm>
#include <utility>

#include "codec/example_wire.hpp"
#include "codec/feature_columns.hpp"
#include "leat/core/error.hpp"

namespace leat::detail {
namespace {

constexpr record_place this_record{0, {}};

// Gives how many there were. Numbers beyond those that are wanted are read for the count alone.
std::size_t read_numbers(const example_target& to, std::string_view list, void* object) {
  const std::size_t size = size_of(to.type);
  std::byte* values = nullptr;
  if (to.count != any_number) values = static_cast<std::byte*>(to.room(object, to.count));
  std::vector<std::byte> beyond;
  std::size_t count = 0;
  const auto room = [&](std::size_t more) {
    const std::size_t before = std::exchange(count, count + more);
    if (to.count == any_number) values = static_cast<std::byte*>(to.room(object, count));
    if (count <= to.count) return values + before * size;
    beyond.resize(more * size);
    return beyond.data();
  };
  if (to.type == dtype::float32) {
    read_floats(list, room);
  } else {
    read_ints(list, room);
  }
  if (to.count == any_number && count == 0) to.room(object, 0);
  return count;
}

std::size_t read_texts(const example_target& to, std::string_view list, void* object) {
  std::size_t count = 0;
  std::size_t size = to.size;
  read_strings(list, [&](std::string_view text) {
    if (to.size != any_number) size = text.size();
    if (count < to.count && size == to.size) to.put(object, count, text);
    ++count;
  });
  if (to.count == any_number || to.count == count) to.room(object, count);
  if (size == to.size || count != to.count) return count;
  this_record.refuse(to.key, "has a string of " + std::to_string(size) + " bytes, must have " +
                                 std::to_string(to.size));
}

void read_target(const example_target& to, const feature_list& list, void* object) {
  if (list.kind == feature_kind::none) {
    if (!to.otherwise) {
      refuse_missing(this_record, to.key, to.type, "make it an optional_field");
    }
    to.otherwise(object);
    return;
  }
  if (list.kind != kind_of(to.type)) refuse_kind(this_record, to.key, list.kind, to.type);
  const bool is_text = to.type == dtype::string;
  const std::size_t count =
      is_text ? read_texts(to, list.list, object) : read_numbers(to, list.list, object);
  if (to.count == any_number) return;
  require_count(this_record, to.key, to.type, count, to.count, to.shape);
}

}  // namespace

example_reader::example_reader(std::vector<example_target> targets) : targets_(std::move(targets)) {
  if (targets_.empty()) throw failure(errc::invalid_argument, "example_fields: no field");
  std::ranges::sort(targets_, {}, &example_target::key);
  const auto twice = std::ranges::adjacent_find(targets_, {}, &example_target::key);
  if (twice == targets_.end()) return;
  throw failure(errc::invalid_argument,
                "example_fields: feature '" + twice->key + "': wanted by two fields");
}

// Where the values of a key belong; targets_.size(): nowhere. Records are mostly written in the
// order of their keys, and then it is the expected one.
std::size_t example_reader::slot_of(std::string_view key, std::size_t expected) const noexcept {
  constexpr std::size_t few = 8;
  const std::size_t all = targets_.size();
  if (expected < all && same_key(targets_[expected].key, key)) return expected;
  if (all <= few) {
    std::size_t slot = 0;
    while (slot < all && !same_key(targets_[slot].key, key)) ++slot;
    return slot;
  }
  const auto found = std::ranges::lower_bound(targets_, key, {}, &example_target::key);
  if (found == targets_.end() || found->key != key) return all;
  return static_cast<std::size_t>(found - targets_.begin());
}

void example_reader::read(byte_view record, void* object) const {
  thread_local std::vector<feature_list> lists;  // of each target; kept for the next record
  lists.assign(targets_.size(), {});
  joined_bytes joined;
  try {
    for_each_features(record, [&](std::string_view features) {
      std::size_t expected = 0;
      for_each_feature(features, joined, [&](std::string_view key, const auto& read) {
        const std::size_t slot = slot_of(key, expected);
        if (slot == targets_.size()) return;
        lists[slot] = read();
        expected = slot + 1;
      });
    });
    for (std::size_t i = 0; i < targets_.size(); ++i) read_target(targets_[i], lists[i], object);
  } catch (const wire_damage& damage) {
    this_record.refuse(damage, "tf.train.Example");
  }
}

}  // namespace leat::detail
