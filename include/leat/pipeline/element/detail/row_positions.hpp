#pragma once

#include <cstddef>
#include <exception>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "leat/codec/decode_error.hpp"
#include "leat/io/reader/record_batch.hpp"

namespace LEAT::detail {

/// Blocks that know the positions of their elements in files.
template <class Block>
concept positioned = requires(const Block& block) {
  block.position(std::size_t{0});
  block.paths();
};

/// The positions of the input elements of a stage in files, for rows that outlive its blocks.
///
/// Each block of a file has its own copy of the path, and files may take turns. So one copy of each
/// path is kept here for all rows, and an object that keeps several paths alive is kept once.
/// Thread safety: thread-compatible; what it keeps is thread-safe.
template <class Block>
class row_positions {
 public:
  /// Call it for each new block of the input. Errors: std::bad_alloc.
  void begin(const Block&) noexcept {}
  /// Returns an object that keeps the paths of all positions so far.
  [[nodiscard]] std::shared_ptr<const void> paths() const noexcept { return nullptr; }
};

template <positioned Block>
class row_positions<Block> {
 public:
  void begin(const Block& block) {
    std::shared_ptr<const void> paths = block.paths();
    if (paths == present_) return;
    all_->insert(paths);
    present_ = std::move(paths);
  }
  [[nodiscard]] record_position of(const Block& block, std::size_t i) const noexcept {
    return block.position(i);
  }
  [[nodiscard]] std::shared_ptr<const void> paths() const noexcept { return all_; }

 private:
  using owner_set = std::set<std::shared_ptr<const void>>;
  std::shared_ptr<owner_set> all_ = std::make_shared<owner_set>();
  std::shared_ptr<const void> present_;
};

template <class View>
class row_positions<basic_record_batch<View>> {
 public:
  using block_type = basic_record_batch<View>;

  void begin(const block_type& block) {
    const std::string_view path = block.path();
    if (path_ && *path_ == path) return;
    auto at = all_->find(path);
    if (at == all_->end()) at = all_->emplace(path).first;
    path_ = &*at;
  }
  [[nodiscard]] record_position of(const block_type& block, std::size_t i) const noexcept {
    record_position p = block.position(i);
    p.path = *path_;
    return p;
  }
  [[nodiscard]] std::shared_ptr<const void> paths() const noexcept { return all_; }

 private:
  using names = std::set<std::string, std::less<>>;  // whose elements do not move
  std::shared_ptr<names> all_ = std::make_shared<names>();
  const std::string* path_ = nullptr;  // of the current block
};

/// Returns the position of the i-th element of a block in its file, "a.csv:7 at offset 120", or an
/// empty text for an element without a file. Errors: std::bad_alloc.
template <positioned Block>
[[nodiscard]] std::string element_position_text(const Block& block, std::size_t i) {
  const record_position p = block.position(i);
  if (p.path.empty()) return {};
  constexpr bool is_line = std::is_same_v<typename Block::value_type, std::string_view>;
  return is_line ? format_line_position(p) : format_record_position(p);
}

/// Returns the position of the record at which a function threw an error for the i-th element of a
/// block. For a batch that was not decoded as a whole, returns the position where it begins.
/// Returns an empty text if the position is unknown. Errors: std::bad_alloc.
template <class In>
[[nodiscard]] std::string error_position_text(const decode_error& e, const In& in, std::size_t i) {
  const auto& element = *(in.begin() + static_cast<std::ptrdiff_t>(i));
  if constexpr (positioned<std::remove_cvref_t<decltype(element)>>) {
    if (element.empty()) return {};  // the function has moved from it
    if (e.records() == element.size() && e.record() < element.size()) {
      return element_position_text(element, e.record());
    }
    const std::string begin = element_position_text(element, 0);
    if (begin.empty()) return {};
    return "record " + std::to_string(e.record()) + " in the batch that begins with " + begin;
  } else if constexpr (positioned<In>) {
    if (e.records() == 1 && e.record() == 0) return element_position_text(in, i);
  }
  return {};
}

/// Returns the error, or null if it is not a decode_error, or is one with a position. The result
/// belongs to `error`.
[[nodiscard]] const decode_error* find_error_without_position(const std::exception_ptr& error);
/// Returns e.at(position).
[[nodiscard]] std::exception_ptr add_position(const decode_error& e, const std::string& position);

/// Returns the current exception, which a function threw for the i-th element of a block. A
/// decode_error without a position gets the position of its record, if the element or its block
/// knows it.
template <class In>
[[nodiscard]] std::exception_ptr with_position(const In& in, std::size_t i) {
  const std::exception_ptr error = std::current_exception();
  if (const decode_error* const e = find_error_without_position(error)) {
    const std::string position = error_position_text(*e, in, i);
    if (!position.empty()) return add_position(*e, position);
  }
  return error;
}

}  // namespace LEAT::detail
