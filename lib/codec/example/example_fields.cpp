#include "leat/codec/example/example_fields.hpp"

#include <algorithm>
#include <utility>

#include "codec/example/example_wire.hpp"
#include "codec/example/feature_columns.hpp"
#include "codec/example/feature_layout.hpp"
#include "leat/base/error.hpp"

namespace LEAT::detail {
namespace {

constexpr record_id this_record{0, {}};

// Returns the number of values. Numbers beyond the wanted ones are only counted.
std::size_t read_numbers(const example_target& to, std::string_view list, void* object) {
  const std::size_t size = size_of(to.type);
  std::byte* values = nullptr;
  if (to.count != any_count) values = static_cast<std::byte*>(to.resize(object, to.count));
  std::vector<std::byte> beyond;
  std::size_t count = 0;
  const auto allocate = [&](std::size_t more) {
    const std::size_t before = std::exchange(count, count + more);
    if (to.count == any_count) values = static_cast<std::byte*>(to.resize(object, count));
    if (count <= to.count) return values + before * size;
    beyond.resize(more * size);
    return beyond.data();
  };
  if (to.type == dtype::float32) {
    read_floats(list, allocate);
  } else {
    read_ints(list, allocate);
  }
  if (to.count == any_count && count == 0) to.resize(object, 0);
  return count;
}

std::size_t read_texts(const example_target& to, std::string_view list, void* object) {
  std::size_t count = 0;
  std::size_t size = to.size;
  read_strings(list, [&](std::string_view text) {
    if (to.size != any_count) size = text.size();
    if (count < to.count && size == to.size) to.assign(object, count, text);
    ++count;
  });
  if (to.count == any_count || to.count == count) to.resize(object, count);
  if (size == to.size || count != to.count) return count;
  this_record.throw_error(to.key, "has a string of " + std::to_string(size) + " bytes, must have " +
                                      std::to_string(to.size));
}

void read_target(const example_target& to, const feature_list& list, void* object) {
  if (list.kind == feature_kind::none) {
    if (!to.otherwise) {
      throw_missing_error(this_record, to.key, to.type, "use optional_field()");
    }
    to.otherwise(object);
    return;
  }
  if (list.kind != kind_of(to.type)) throw_kind_error(this_record, to.key, list.kind, to.type);
  const bool is_text = to.type == dtype::string;
  const std::size_t count =
      is_text ? read_texts(to, list.list, object) : read_numbers(to, list.list, object);
  if (to.count == any_count) return;
  require_count(this_record, to.key, to.type, count, to.count, to.shape);
}

}  // namespace

example_reader::example_reader(std::vector<example_target> targets, example_options options)
    : targets_(std::move(targets)), options_(options) {
  if (targets_.empty())
    throw failure(errc::invalid_argument, "example_fields: no fields: pass one or more");
  if (options_.check_utf8) {
    for (const example_target& target : targets_) check_key("example_fields", target.key);
  }
  std::ranges::sort(targets_, {}, &example_target::key);
  const auto twice = std::ranges::adjacent_find(targets_, {}, &example_target::key);
  if (twice == targets_.end()) return;
  throw failure(errc::invalid_argument,
                "example_fields: feature '" + twice->key + "' has two fields: pass one");
}

// The index of the target of the key of a record; targets_.size() if the key has no target.
std::size_t example_reader::find_slot(std::string_view key) const {
  if (options_.check_utf8) require_utf8(key);
  const auto found = std::ranges::lower_bound(targets_, key, {}, &example_target::key);
  if (found == targets_.end() || found->key != key) return targets_.size();
  return static_cast<std::size_t>(found - targets_.begin());
}

void example_reader::read(byte_view record, void* object) const {
  // Kept for the next record, also of another reader. `next_targets` has for each target the one
  // that followed it in the previous record; element `count` is the first target of that record.
  // These are tried first.
  thread_local std::vector<feature_list> lists;
  thread_local std::vector<std::size_t> next_targets;
  const std::size_t count = targets_.size();
  lists.assign(count, {});
  if (next_targets.size() <= count) next_targets.resize(count + 1);
  joined_bytes joined;
  try {
    for_each_features(record, [&](std::string_view features) {
      std::size_t* guess = &next_targets[count];
      for_each_feature(features, joined, [&](std::string_view key, const auto& read_list) {
        std::size_t slot = *guess;
        if (slot >= count || !same_key(targets_[slot].key, key)) slot = find_slot(key);
        if (slot == count) return;
        lists[slot] = read_list();
        *guess = slot;
        guess = &next_targets[slot];
      });
    });
    for (std::size_t i = 0; i < count; ++i) read_target(targets_[i], lists[i], object);
  } catch (const malformed_message& error) {
    this_record.throw_error(error, record, "tf.train.Example");
  }
}

}  // namespace LEAT::detail
