#pragma once

#include <iosfwd>
#include <string>
#include <string_view>

#include "async/dump/process_snapshot.hpp"

namespace leat::detail {

/// What dump() prints, for a person and for a program.
void print_text(const process_snapshot& state, std::ostream& out);
void print_json(const process_snapshot& state, std::ostream& out);

/// "file.cpp:12 in function".
[[nodiscard]] std::string to_text(const code_location& p);

/// "pop of reader, at file.cpp:12 in function".
[[nodiscard]] std::string to_text(const queue_operation& operation);

/// What a wait says of itself, "pop from queue 'lines' (0 of 64)"; some have a verb only.
[[nodiscard]] std::string wait_text(std::string_view verb, std::string_view words);

/// The tasks and threads of the first scope, a line each and what belongs to it below, then the
/// other scopes and the cycles; every line is indented. Empty when the first scope has none.
[[nodiscard]] std::string members_text(const process_snapshot& state);

/// Where a task is: what it waits for, and in a line each where it is awaited.
[[nodiscard]] std::string describe_position(const task_state& task);

}  // namespace leat::detail
