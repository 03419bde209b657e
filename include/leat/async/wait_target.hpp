#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "leat/async/task_id.hpp"

namespace leat {

/// What is known of the object of a wait, for machines: fields of a dump in JSON, and who can end
/// the wait. Filled by wait_operation::kind::inspect; what does not apply stays empty.
struct wait_target {
  std::string type = {};                     ///< "queue", "task group", ...
  std::string name = {};                     ///< empty: the object has none
  std::optional<std::size_t> size = {};      ///< items in it
  std::optional<std::size_t> capacity = {};  ///< items that fit; empty where there is no limit
  std::optional<bool> closed = {};
  std::size_t asked = 1;  ///< items that the operation asks for
  std::size_t done = 0;   ///< items of those that it has moved

  /// The scope of which all tasks have to end before the wait does; 0: none.
  std::uint64_t scope = 0;
  /// True: nothing else ends the wait of `scope`, such as a deadline.
  bool certain = false;
  /// Tasks of which any could end the wait, as far as is known: those that were seen to do so. An
  /// empty id stands for somebody who is no task.
  std::vector<task_id> partners = {};
};

}  // namespace leat
