#pragma once

#include <iosfwd>
#include <string>
#include <string_view>

#include "async/dump/internal/process_snapshot.hpp"

namespace LEAT::detail {

/// The output of dump(), as text and as JSON.
void print_text(const process_snapshot& state, std::ostream& out);
void print_json(const process_snapshot& state, std::ostream& out);

/// "file.cpp:12 in function".
[[nodiscard]] std::string to_text(const code_location& p);

/// ", held by 'writer' for 3.100 s at file.cpp:12 in function". `name`: of the task or thread, or
/// empty if it is not known.
[[nodiscard]] std::string to_text(const wait_target::hold& holder, std::string_view name);

/// "pop of reader, at file.cpp:12 in function".
[[nodiscard]] std::string to_text(const waiting_operation& operation);

/// The text of a wait, "pop from queue 'lines' (0 of 64)"; some waits have only a verb.
[[nodiscard]] std::string wait_text(std::string_view verb, std::string_view words);

/// The tasks and threads of the first scope, one per line with their scopes below, then the other
/// scopes and the cycles. Every line is indented. Empty if the first scope has no task or thread.
[[nodiscard]] std::string members_text(const process_snapshot& state);

/// The position of a task: its wait, followed by one line for each co_await of the chain.
[[nodiscard]] std::string describe_position(const task_state& task);

}  // namespace LEAT::detail
