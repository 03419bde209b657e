#pragma once

#include <concepts>
#include <cstddef>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "leat/async/task.hpp"
#include "leat/pipeline/element/detail/owned_block.hpp"
#include "leat/pipeline/element/detail/row_memory.hpp"
#include "leat/pipeline/element/detail/row_positions.hpp"
#include "leat/pipeline/element/detail/shuffle_slot.hpp"
#include "leat/pipeline/stage/detail/stage.hpp"
#include "leat/pipeline/state/detail/replay_requests.hpp"

namespace LEAT::detail {

/// Makes a stage make elements again, until all requests are served. `give` takes a block of them
/// and their origins, and returns the number of requests that it has served. The result is false if
/// some elements are no longer made. This is a member of a class because g++ 12 warns about the
/// frame of a function template whose elements are of a type in an unnamed namespace.
template <class In>
struct complete_replay {
  template <class Give>
  [[nodiscard]] static task<bool> replay(stage<In>& input, std::span<const origin> what,
                                         Give& give) {
    replay_requests left(what);
    while (!left.empty()) {
      std::size_t given = 0;
      const typename stage<In>::sink take = [&](In& in, std::span<const origin> of) {
        given += give(left, in, of);
      };
      const std::vector<origin> records = left.records();
      co_await input.replay(records, take);
      if (given == 0) co_return false;
      left.drop_delivered();
    }
    co_return true;
  }
};

/// A slot for an element whose type has no default constructor.
template <class Element>
struct optional_slot {
  void put(Element&& e) { element.emplace(std::move(e)); }
  Element&& take() noexcept { return std::move(*element); }
  std::optional<Element> element;
};

/// Fills the slots of a stage again with the elements that it had of its input before a restore. An
/// element of several slots, from several epochs, is made once and copied, or once for each slot if
/// it cannot be copied.
template <class In, class Slot = typename slot_for<owned_block<In>>::type>
class element_replay {
 public:
  using slot = Slot;

  /// There are as many slots as origins. `slots`, `what` and `positions` must outlive this. Rows
  /// are put into memory from `rows`, if any.
  element_replay(std::vector<slot>& slots, std::span<const origin> what,
                 row_positions<In>& positions, row_memory* rows = nullptr) noexcept
      : slots_(slots), origins_(what), positions_(positions), rows_(rows) {}

  /// Fills all slots and calls `filled` for each one. Returns false if some elements are no longer
  /// made.
  template <class Filled>
  [[nodiscard]] task<bool> make(stage<In>& input, Filled& filled) {
    const auto put = [this, &filled](replay_requests& all, In& in, std::span<const origin> of) {
      std::size_t given = 0;
      positions_.begin(in);
      for (std::size_t i = 0; i < of.size(); ++i) {
        given += put_one(all, all.find_requesters(of[i]), in, i, filled);
      }
      return given;
    };
    co_return co_await complete_replay<In>::replay(input, origins_, put);
  }

 private:
  // Puts an element into all slots that want it, or into one of them if it cannot be copied.
  // Returns the number of slots.
  template <class Filled>
  std::size_t put_one(replay_requests& all, replay_requests::range who, In& in, std::size_t i,
                      Filled& filled) {
    using value = typename In::value_type;
    const auto element = in.begin() + static_cast<std::ptrdiff_t>(i);
    std::size_t given = 0;
    if (who.first != who.last) prefetch_line(&slots_[all.slot_ahead(who.first)]);
    for (std::size_t w = who.first; w != who.last; ++w) {
      if (!all.wants(w)) continue;
      ++given;
      slot& p = slots_[all.give(w)];
      bool was_moved = false;
      if constexpr (requires { p.position(); }) {
        p.put(*element, positions_.of(in, i), rows_);
      } else {
        was_moved = true;
        if constexpr (std::copy_constructible<value>) was_moved = w + 1 == who.last;
        if (was_moved) {
          p.put(std::move(*element));
        } else if constexpr (std::copy_constructible<value>) {
          p.put(value(*element));
        }
      }
      filled(p);
      if (was_moved) break;
    }
    return given;
  }

  std::vector<slot>& slots_;
  const std::span<const origin> origins_;
  row_positions<In>& positions_;
  [[maybe_unused]] row_memory* const rows_;
};

}  // namespace LEAT::detail
