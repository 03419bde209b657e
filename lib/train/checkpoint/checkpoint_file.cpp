#include "train/checkpoint/checkpoint_file.hpp"

#include <algorithm>
#include <exception>
#include <new>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "base/internal/error_text.hpp"
#include "leat/base/error.hpp"
#include "leat/codec/checksum/crc32c.hpp"
#include "leat/io/file/file.hpp"
#include "leat/io/file/internal/atomic_file.hpp"

namespace LEAT::detail {
namespace {

// A checkpoint is a table, which contains the checksum of each value, and the values after it.
// take_snapshot() determines all offsets, so the values can be written first. The table follows
// last, at the beginning of the file, when the checksums are known. Then the file gets its name: a
// file with the name of a checkpoint is complete.
//
// A restore first reads all values into staging memory of the items and compares the checksums.
// Only then does it assign them. The objects come first, because an object may reject its bytes,
// and the objects before it are then rolled back. The values in memory follow: their assignment
// cannot fail.

// Values are written and checked in pieces of this size, between which other tasks run.
constexpr std::size_t piece_size = std::size_t{1} << 20;
// Smaller values are collected for one write.
constexpr std::size_t small_value = std::size_t{64} << 10;

std::string describe(std::string_view type, std::uint64_t element_size, std::uint64_t count) {
  const std::string number = std::to_string(count);
  if (type == "string" || type == "object") return std::string(type) + " of " + number + " bytes";
  if (!type.empty()) return number + " x " + std::string(type);
  return number + " x " + std::to_string(element_size) + " bytes";
}

// "path: what: why", with the code of the error and its meaning once.
[[noreturn]] void rethrow_with_context(const std::string& context, const std::system_error& e) {
  throw failure(e.code(), context + ": " + without_code_message(e));
}

// ---- Writing.

// Writes values consecutively to a file, and small ones in one write.
class value_writer {
 public:
  value_writer(file& to, std::uint64_t offset) : to_(to), offset_(offset) {}

  // Returns the checksum.
  task<std::uint32_t> put(byte_view value) {
    std::uint32_t checksum = 0;
    const bool large = value.size() >= small_value;
    if (large) co_await flush();
    while (!value.empty()) {
      const byte_view piece = value.first(std::min(value.size(), piece_size));
      checksum = extend_crc32c(checksum, piece);
      if (large) {
        co_await to_.write_at(offset_, piece);
        offset_ += piece.size();
      } else {
        collected_.insert(collected_.end(), piece.begin(), piece.end());
      }
      value = value.subspan(piece.size());
    }
    if (collected_.size() >= piece_size) co_await flush();
    co_return checksum;
  }

  task<void> flush() {
    if (collected_.empty()) co_return;
    co_await to_.write_at(offset_, collected_);
    offset_ += collected_.size();
    collected_.clear();
  }

 private:
  // The collected bytes belong at `offset_`; everything before it is written.
  file& to_;
  std::uint64_t offset_;
  std::vector<std::byte> collected_;
};

// ---- Reading.

void check_size(const file& f, const checkpoint_table::extent& all) {
  const std::uint64_t size = f.status().size;
  if (size == all.file_size) return;
  throw failure(errc::data_loss, "checkpoint has " + std::to_string(size) +
                                     " bytes, but was written with " +
                                     std::to_string(all.file_size) +
                                     (size < all.file_size ? ": it is truncated" : ""));
}

task<void> read_all(file& f, std::uint64_t offset, std::span<std::byte> to) {
  const std::size_t got = co_await f.read_at(offset, to);
  if (got == to.size()) co_return;
  throw failure(errc::data_loss, "file was truncated while it was read");
}

task<checkpoint_table> read_table(file& f) {
  std::vector<std::byte> bytes(checkpoint_table::header_size);
  bytes.resize(co_await f.read_at(0, bytes));
  const checkpoint_table::extent all = checkpoint_table::decode_extent(bytes);
  check_size(f, all);
  bytes.resize(static_cast<std::size_t>(all.table_size));
  co_await read_all(f, 0, bytes);
  co_return checkpoint_table::decode(bytes);
}

using entry_map = std::unordered_map<std::string_view, const checkpoint_entry*>;

void check_identity(const checkpoint_table& table, const checkpoint_registry& registry) {
  if (registry.identity().empty() || table.identity == registry.identity()) return;
  throw failure(errc::failed_precondition,
                "checkpoint belongs to '" + table.identity + "', but this program is '" +
                    registry.identity() +
                    "': if it is the same program, restore the old identity with "
                    "checkpoint_registry(\"" +
                    table.identity + "\"), otherwise use a different directory");
}

std::string left_out_advice(const std::string& name) {
  return "; to restore only the other entries, set saver_options::left_out = "
         "{\"" +
         name + "\"}";
}

void check_entry(const checkpoint_entry& e, const checkpoint_item& item) {
  const auto fixed = item.fixed_size();
  const bool same_type = e.type == item.type() && e.element_size == item.element_size();
  if (same_type && (!fixed || e.size == *fixed)) return;
  const std::string expected =
      fixed
          ? describe(item.type(), item.element_size(), *fixed / item.element_size())
          : "any number of " + (item.type().empty() ? std::to_string(item.element_size()) + " bytes"
                                                    : item.type());
  throw failure(errc::invalid_argument,
                "entry '" + e.name + "' is " + describe(e.type, e.element_size, e.count()) +
                    ", but the program has " + expected + left_out_advice(item.name()));
}

// A registered item with the entry of a checkpoint from which it is restored.
struct matched_entry {
  checkpoint_item* item;
  const checkpoint_entry* entry;
};
struct matched_entries {
  std::vector<matched_entry> restored = {};
  std::vector<std::string> not_restored = {};              // as the options permit
  std::unordered_set<const checkpoint_entry*> known = {};  // of registered items, restored or not
};

bool contains(const std::vector<std::string>& names, const std::string& name) {
  return std::ranges::find(names, name) != names.end();
}

// The entry of an item, under its current name or an earlier one. Null if there is none.
const checkpoint_entry* find_entry(const checkpoint_item& item, const entry_map& by_name,
                                   const saver_options& options) {
  auto found = by_name.find(item.name());
  if (found != by_name.end()) return found->second;
  for (const renamed_entry& r : options.renamed) {
    if (r.to != item.name()) continue;
    found = by_name.find(r.from);
    if (found != by_name.end()) return found->second;
  }
  return nullptr;
}

// Rejects entries of the checkpoint that the program neither registers nor permits.
void check_extra(const checkpoint_table& table, const matched_entries& matched,
                 const saver_options& options) {
  if (options.extra == extra_entries::ignore) return;
  for (const checkpoint_entry& e : table.entries) {
    if (matched.known.contains(&e)) continue;
    if (contains(options.may_be_extra, e.name)) continue;
    throw failure(errc::invalid_argument,
                  "checkpoint has an entry '" + e.name + "' (" +
                      describe(e.type, e.element_size, e.count()) +
                      ") that the program does not register: register it, or drop it from the "
                      "state with saver_options::may_be_extra = {\"" +
                      e.name + "\"}");
  }
}

// Matches the registered names with entries of the same type and size.
matched_entries match_entries(const checkpoint_table& table, const checkpoint_registry& registry,
                              const saver_options& options) {
  entry_map by_name;
  for (const checkpoint_entry& e : table.entries) by_name.emplace(e.name, &e);
  matched_entries matched;
  for (const auto& item : registry.items()) {
    const std::string& name = item->name();
    const checkpoint_entry* const e = find_entry(*item, by_name, options);
    if (e) matched.known.insert(e);
    if (contains(options.left_out, name)) {
      matched.not_restored.push_back(name);
    } else if (e) {
      check_entry(*e, *item);
      matched.restored.push_back({item.get(), e});
    } else if (contains(options.may_be_missing, name)) {
      matched.not_restored.push_back(name);
    } else {
      throw failure(
          errc::not_found,
          "checkpoint has no entry '" + name +
              "', because the program that saved it did not register it: keep the initial "
              "value with saver_options::may_be_missing = {\"" +
              name + "\"}, or name the entry that it replaces in saver_options::renamed");
    }
  }
  check_extra(table, matched, options);
  return matched;
}

void check_checksum(const checkpoint_entry& e, std::uint32_t checksum) {
  if (checksum == e.checksum) return;
  throw failure(errc::data_loss, "checkpoint is corrupt: checksum of entry '" + e.name + "', " +
                                     std::to_string(e.size) + " bytes at offset " +
                                     std::to_string(e.offset) + ", does not match");
}

task<void> read_value(file& f, const checkpoint_entry& e, std::span<std::byte> to) {
  std::uint32_t checksum = 0;
  for (std::size_t done = 0; done < to.size();) {
    const std::span<std::byte> piece = to.subspan(done, std::min(piece_size, to.size() - done));
    co_await read_all(f, e.offset + done, piece);
    checksum = extend_crc32c(checksum, piece);
    done += piece.size();
  }
  check_checksum(e, checksum);
}

// Like read_value(), without keeping the value.
task<void> check_value(file& f, const checkpoint_entry& e) {
  std::vector<std::byte> piece;
  std::uint32_t checksum = 0;
  for (std::uint64_t done = 0; done < e.size; done += piece.size()) {
    piece.resize(static_cast<std::size_t>(std::min<std::uint64_t>(piece_size, e.size - done)));
    co_await read_all(f, e.offset + done, piece);
    checksum = extend_crc32c(checksum, piece);
  }
  check_checksum(e, checksum);
}

task<matched_entries> stage_all(file& f, checkpoint_table& table,
                                const checkpoint_registry& registry, const saver_options& options,
                                restore_phase& phase) {
  table = co_await read_table(f);
  phase = restore_phase::entries;
  check_identity(table, registry);
  matched_entries matched = match_entries(table, registry, options);
  phase = restore_phase::values;
  for (const auto& [item, entry] : matched.restored) {
    // The size was checked, so the file has this many bytes.
    const std::span<std::byte> memory = item->stage(static_cast<std::size_t>(entry->size));
    co_await read_value(f, *entry, memory);
  }
  co_return matched;
}

// ---- Giving the values what was read.

// Objects that were restored, with their earlier contents.
using restored_objects = std::vector<std::pair<checkpoint_item*, std::string>>;

// Restores the earlier contents of the objects. Returns the names of those that reject them.
task<std::string> roll_back(restored_objects objects) {
  std::string stuck;
  for (; !objects.empty(); objects.pop_back()) {
    auto& [item, before] = objects.back();
    try {
      co_await item->restore(std::move(before));
    } catch (const std::exception&) {
      stuck += (stuck.empty() ? "'" : ", '") + item->name() + "'";
    }
  }
  co_return stuck;
}

// Adds the context. An object that cannot use its bytes throws any exception of its parser. A
// std::bad_alloc says nothing about the bytes.
[[noreturn]] void rethrow_object_error(const std::string& context, const std::string& advice,
                                       const std::exception_ptr& error) {
  try {
    std::rethrow_exception(error);
  } catch (const std::system_error& e) {
    throw failure(e.code(), context + ": " + without_code_message(e) + advice);
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const std::exception& e) {
    std::throw_with_nested(failure(errc::invalid_argument, context + ": " + e.what() + advice));
  }
}

// Restores objects first, since they may reject their bytes; values in memory do not.
task<void> restore_matched(const std::vector<matched_entry>& restored, std::string path) {
  restored_objects done;
  std::exception_ptr error;
  std::string name;
  auto left = std::ranges::count_if(restored, [](const auto& m) { return m.item->is_object(); });
  for (const auto& [item, entry] : restored) {
    if (!item->is_object()) continue;
    try {
      std::string before;  // the last one never has to be rolled back
      if (--left > 0) before = as_text(item->save(true).bytes());
      co_await item->restore(item->take_staged());
      done.emplace_back(item, std::move(before));
    } catch (...) {
      error = std::current_exception();
      name = item->name();
      break;
    }
  }
  if (error) {
    const std::string stuck = co_await roll_back(std::move(done));
    std::string context = path + ": entry '" + name + "' is rejected";
    if (!stuck.empty())
      context += ", and entries restored before it could not be rolled back: " + stuck;
    rethrow_object_error(context, left_out_advice(name), error);
  }
  for (const auto& [item, entry] : restored) {
    if (!item->is_object()) item->commit();
  }
}

}  // namespace

checkpoint_snapshot take_snapshot(const checkpoint_registry& registry, bool copy) {
  checkpoint_snapshot s;
  s.table.identity = registry.identity();
  s.table.entries.reserve(registry.size());
  s.values.reserve(registry.size());
  for (const auto& item : registry.items()) {
    const saved_value& value = s.values.emplace_back(item->save(copy));
    checkpoint_entry& e = s.table.entries.emplace_back();
    e.name = item->name();
    e.type = item->type();
    e.element_size = static_cast<std::uint32_t>(item->element_size());
    e.size = value.bytes().size();
  }
  s.table.assign_offsets();
  return s;
}

task<void> write_checkpoint(std::string path, checkpoint_snapshot snapshot, bool durable,
                            bool& has_name) {
  atomic_file f = co_await atomic_file::create(path);
  checkpoint_table& table = snapshot.table;
  const std::uint64_t begin =
      table.entries.empty() ? table.file_size() : table.entries.front().offset;
  value_writer values(f.contents(), begin);
  for (std::size_t i = 0; i < snapshot.values.size(); ++i) {
    table.entries[i].checksum = co_await values.put(snapshot.values[i].bytes());
  }
  co_await values.flush();
  const std::vector<std::byte> head = table.encode();
  co_await f.contents().write_at(0, head);
  co_await f.finish(durable);
  std::string name = path;
  co_await f.commit(std::move(name));
  f.release();  // the earlier file of this name is gone
  has_name = true;
  if (durable) co_await sync_parent_directory(std::move(path));
}

task<std::optional<bool>> is_checkpoint_of(std::string path, const checkpoint_registry& registry) {
  try {
    file f = co_await file::open(std::move(path));
    const checkpoint_table table = co_await read_table(f);
    check_identity(table, registry);
  } catch (const failure& e) {
    if (e.code() == std::errc::io_error) co_return std::nullopt;
    const std::vector<errc> none = {errc::not_found, errc::invalid_argument, errc::data_loss,
                                    errc::failed_precondition, errc::unimplemented};
    if (!has_any_code(std::current_exception(), none)) throw;
    co_return false;
  }
  co_return true;
}

namespace {

// Adds the name of the file at the start, unless it is there already.
[[noreturn]] void rethrow_file_error(const std::string& path, const std::exception_ptr& error) {
  try {
    std::rethrow_exception(error);
  } catch (const std::system_error& e) {
    if (std::string_view(e.what()).starts_with(path)) throw;
    rethrow_with_context(path, e);
  }
}

task<void> check_values(file& f) {
  const checkpoint_table table = co_await read_table(f);
  for (const checkpoint_entry& e : table.entries) co_await check_value(f, e);
}

task<std::string> read_object_from(file& f, std::string name) {
  const checkpoint_table table = co_await read_table(f);
  const auto found = std::ranges::find(table.entries, name, &checkpoint_entry::name);
  if (found == table.entries.end()) {
    throw failure(errc::not_found, "checkpoint has no entry '" + name + "'");
  }
  if (found->type != "object") {
    throw failure(errc::invalid_argument,
                  "entry '" + name + "' is " +
                      describe(found->type, found->element_size, found->count()) +
                      ", not an object");
  }
  std::string bytes(static_cast<std::size_t>(found->size), '\0');
  co_await read_value(f, *found, std::as_writable_bytes(std::span(bytes)));
  co_return bytes;
}

}  // namespace

task<void> verify_checkpoint(std::string path) {
  file f = co_await file::open(path);
  std::exception_ptr error;
  try {
    co_await check_values(f);
  } catch (...) {
    error = std::current_exception();
  }
  if (error) rethrow_file_error(path, error);
}

task<std::string> read_object(std::string path, std::string name) {
  file f = co_await file::open(path);
  std::exception_ptr error;
  std::string bytes;
  try {
    bytes = co_await read_object_from(f, std::move(name));
  } catch (...) {
    error = std::current_exception();
  }
  if (error) rethrow_file_error(path, error);
  co_return bytes;
}

task<std::vector<std::string>> read_checkpoint(std::string path,
                                               const checkpoint_registry& registry,
                                               const saver_options& options, restore_phase& phase) {
  phase = restore_phase::table;
  file f = co_await file::open(path);
  std::exception_ptr error;
  checkpoint_table table;  // `matched` points into it
  matched_entries matched;
  try {
    matched = co_await stage_all(f, table, registry, options, phase);
    phase = restore_phase::objects;
    co_await restore_matched(matched.restored, path);
  } catch (...) {
    error = std::current_exception();
  }
  for (const auto& item : registry.items()) item->drop();
  if (error) rethrow_file_error(path, error);
  co_return std::move(matched.not_restored);
}

}  // namespace LEAT::detail
