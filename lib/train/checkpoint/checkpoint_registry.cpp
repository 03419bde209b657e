#include "leat/train/checkpoint/checkpoint_registry.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "leat/base/error.hpp"
#include "leat/base/internal/assert.hpp"
#include "leat/codec/checkpoint/checkpoint_table.hpp"

namespace LEAT {

task<void> detail::checkpoint_item::restore(std::string) {
  LEAT_ASSERT(is_object(), "restore() called for values in memory");
  co_return;
}

std::span<std::byte> detail::memory_item::stage(std::size_t size) {
  staged_.resize(size);
  return staged_;
}

void detail::memory_item::drop() noexcept { std::vector<std::byte>().swap(staged_); }

void detail::memory_item::commit() noexcept {
  LEAT_ASSERT(staged_.size() == bytes_.size(), "restored value has a different size");
  if (!staged_.empty()) std::memcpy(bytes_.data(), staged_.data(), staged_.size());
  drop();
}

std::span<std::byte> detail::any_object_item::stage(std::size_t size) {
  staged_.resize(size);
  return std::as_writable_bytes(std::span(staged_));
}

void detail::any_object_item::drop() noexcept { std::string().swap(staged_); }

std::string detail::any_object_item::take_staged() noexcept { return std::exchange(staged_, {}); }

void checkpoint_registry::add(std::string name, std::string& text) {
  add_item(std::make_unique<detail::list_item<std::string>>(std::move(name), "string", 1, text));
}

void checkpoint_registry::add_memory(std::string name, std::string_view type,
                                     std::size_t element_size, std::span<std::byte> bytes) {
  add_item(std::make_unique<detail::memory_item>(std::move(name), type, element_size, bytes));
}

namespace {

// Checked now, and not when the program first saves.
void check_length(std::string_view what, const std::string& text) {
  if (text.size() <= checkpoint_table::max_text_size) return;
  throw failure(errc::invalid_argument,
                "checkpoint_registry: " + std::string(what) + " of " + std::to_string(text.size()) +
                    " bytes is too long: the limit is " +
                    std::to_string(checkpoint_table::max_text_size) + " bytes");
}

}  // namespace

checkpoint_registry::checkpoint_registry(std::string identity) : identity_(std::move(identity)) {
  check_length("identity", identity_);
}

std::size_t checkpoint_registry::size() const noexcept { return items_.size(); }

void checkpoint_registry::add_item(std::unique_ptr<detail::checkpoint_item> item) {
  if (item->name().empty()) {
    throw failure(errc::invalid_argument,
                  "checkpoint_registry: name is empty: pass a name for each value");
  }
  check_length("name", item->name());
  const auto same = [&](const auto& other) { return other->name() == item->name(); };
  if (std::any_of(items_.begin(), items_.end(), same)) {
    throw failure(errc::already_exists, "checkpoint_registry: duplicate name '" + item->name() +
                                            "': use a unique name for each value");
  }
  items_.push_back(std::move(item));
}

}  // namespace LEAT
