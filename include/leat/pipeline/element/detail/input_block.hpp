#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

#include "leat/base/flavour.hpp"

namespace LEAT::detail {

/// A position between two elements of a stage: the number of a block, and an index into it.
struct block_position {
  std::uint64_t block = 0;
  std::uint64_t element = 0;
};

/// A block of the previous stage, and how many of its elements were taken.
template <class Block>
class input_block {
 public:
  using value_type = typename Block::value_type;
  using taken_element =
      std::conditional_t<std::is_same_v<decltype(*std::declval<Block&>().begin()), value_type&>,
                         value_type&&, value_type>;

  [[nodiscard]] std::size_t left() const noexcept { return block_.size() - taken_; }

  /// Returns the next element: a reference into the block, to move from, or a value if the block
  /// creates its elements. Precondition: left() > 0.
  [[nodiscard]] taken_element take() {
    return static_cast<taken_element>(*(block_.begin() + static_cast<std::ptrdiff_t>(taken_++)));
  }

  /// The block itself.
  [[nodiscard]] const Block& block() const noexcept { return block_; }
  /// Returns how many elements of the block were taken.
  [[nodiscard]] std::size_t taken() const noexcept { return taken_; }
  /// Returns the number of the next block, which the previous stage may already be filling.
  [[nodiscard]] std::uint64_t next_block_number() const noexcept { return blocks_; }

  /// Returns the block for the previous stage to fill. No element is left until renewed().
  [[nodiscard]] Block& renew() noexcept {
    taken_ = 0;
    renewing_ = true;
    return block_;
  }

  /// Call it when the next block has been filled.
  void renewed() noexcept {
    ++blocks_;
    renewing_ = false;
  }

  /// Call it if there is no next block.
  void clear() noexcept {
    renew().clear();
    renewing_ = false;
  }

  /// Returns the position of the next element in the previous stage.
  [[nodiscard]] block_position next() const noexcept {
    if (renewing_ || left() == 0) return {blocks_, 0};
    return {blocks_ - 1, taken_};
  }

  /// Starts from the beginning.
  void restart() noexcept {
    clear();
    blocks_ = 0;
  }

 private:
  Block block_;
  std::size_t taken_ = 0;
  bool renewing_ = false;
  std::uint64_t blocks_ = 0;  // blocks received so far
};

}  // namespace LEAT::detail
