#pragma once

#include <coroutine>
#include <cstddef>
#include <exception>
#include <optional>
#include <ostream>
#include <source_location>
#include <sstream>
#include <string>
#include <system_error>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>

#include "leat/async/detail/operation_results.hpp"
#include "leat/async/detail/promise.hpp"
#include "leat/async/detail/select_branch_set.hpp"
#include "leat/async/detail/select_state.hpp"
#include "leat/base/error.hpp"
#include "leat/base/internal/assert.hpp"

namespace LEAT::detail {

[[nodiscard, gnu::cold]] failure select_cancelled(const std::string& what);
[[nodiscard, gnu::cold]] failure limit_error(const limit_end& end, const std::string& what);

template <class Operation>
using branch_result = decltype(std::declval<select_branch<Operation>&>().result());

template <class... Arguments>
using select_result = std::variant<branch_result<operation_of<Arguments>>...>;

/// The unstarted branches of an argument of a select: an operation, or those of a limit.
template <class Operation>
[[nodiscard]] std::tuple<Operation&&> unstarted_branches(Operation&& operation) noexcept {
  return {std::move(operation)};
}
template <class Operation, class... Ends>
[[nodiscard]] auto unstarted_branches(limited_awaiter<Operation, Ends...>&& limited) noexcept {
  return limited.release();
}

/// The awaitable that select() returns. Movable until it is awaited.
///
/// An argument is an operation or a limited_awaiter. The limits of an operation are branches of
/// their own: if one of them wins, its operation fails with the code of the limit.
template <class... Arguments>
class [[nodiscard]] select_awaiter final : public select_state {
  using branch_set = select_branch_set<Arguments...>;

 public:
  using result_type = select_result<Arguments...>;

  /// `from` has the unstarted branches of all arguments.
  template <class... From>
  select_awaiter(const kind& k, const std::source_location& where, std::tuple<From&&...> from)
      : select_state(the_functions, k, where), branches_(*this, std::move(from)) {}
  select_awaiter(select_awaiter&& unstarted) noexcept
      : select_awaiter(unstarted.what(), unstarted.where(), unstarted.release()) {}
  select_awaiter& operator=(select_awaiter&&) = delete;
  ~select_awaiter() {
    // If the coroutine is destroyed while it waits, no operation may win any more.
    if (suspended_ && !claim(stop)) undo();
  }

  /// Moves the branches out, for another select or a limit around this one.
  [[nodiscard]] auto release() noexcept {
    LEAT_ASSERT(winner() == nobody && !suspended_,
                "select or limit moved after it was awaited: create a new one for each co_await");
    return branches_.release();
  }

  /// Called by leat::task before anything else.
  void bind(promise_base& promise, std::coroutine_handle<>,
            const std::source_location& awaited_at) noexcept {
    task_ = &promise.context();
    if (where().line() == 0) set_where(awaited_at);  // its first operation does not know its own
  }
  /// Called before await_ready() if await_tuple() will return the result.
  void omit_message() noexcept { needs_message_ = false; }

  bool await_ready() {
    LEAT_ASSERT(winner() == nobody,
                "select() or a time limit awaited twice: create a new one for each co_await");
    const bool stopped = task_ && task_->stop_requested();
    const bool done = branches_.any([&](auto& a, auto index) {
      return (!stopped || is_empty_operation(a)) && a.try_complete() &&
             claim(static_cast<int>(index()));
    });
    // Do not wait after a stop: operations that were not tried have reserved no memory for a wait.
    if (!done && !(stopped && claim(stop))) return false;
    return !task_ || task_->get_scheduler().consume_budget();
  }

  bool await_suspend(std::coroutine_handle<> h) {
    begin_wait(task_, h);
    if constexpr (has_irrevocable) settle_before_resuming();
    suspended_ = true;
    if (winner() != nobody) {  // it has ended, but other ready tasks run first
      wake();
      return true;
    }
    if (task_ && task_->stop_requested()) {
      static_cast<void>(claim(stop));
    } else if (!begin()) {
      return true;
    }
    abandon_wait();
    return false;
  }

  result_type await_resume() {
    const int first = end();
    if (winner() == stop) throw select_cancelled(text());
    return result(first);
  }
  operation_result<result_type> await_tuple() noexcept {
    const int first = end();
    const bool stopped = winner() == stop;
    return result_of_call<result_type>(
        stopped ? make_error_code(errc::cancelled) : std::error_code(),
        [this, first] { return result(first); });
  }

  /// Like await_resume(), for the only argument: returns the result of its operation, which a stop
  /// of the task ends like a limit.
  auto resume_operation() {
    const int first = end();
    if (begin_error_) std::rethrow_exception(begin_error_);
    return result_of<branch_set::places[0].operation>(first);
  }
  /// Like resume_operation(), but returns the error.
  template <class Result>
  Result operation_tuple() noexcept {
    constexpr std::size_t operation = branch_set::places[0].operation;
    const int first = end();
    if (begin_error_) return failed_with<Result>(to_error_code(begin_error_));
    auto& a = branches_.template get<operation>();
    const std::optional<limit_end> by = end_of<operation>(first);
    if constexpr (requires { a.interrupt(*by); }) {
      if (by) a.interrupt(*by);
      return a.tuple();
    } else if (by) {
      return failed_with<Result>(make_error_code(by->code));
    } else if constexpr (requires(Result r) { r.value; }) {
      return result_of_call<decltype(Result::value)>({}, [&a] { return a.result(); });
    } else {
      return result_of_call<void>({}, [&a] { static_cast<void>(a.result()); });
    }
  }

 private:
  // Describes the operations that are waited for.
  [[nodiscard]] std::string text() const {
    std::ostringstream out;
    branches_.describe(out, nobody);
    return std::move(out).str();
  }
  template <std::size_t Operation>
  [[nodiscard]] std::string text_of() const {
    std::ostringstream out;
    branches_.template get<Operation>().describe(out);
    return std::move(out).str();
  }

  static constexpr std::size_t branch_count = joined_branches<Arguments...>::size;
  static constexpr bool has_limits = branch_count > sizeof...(Arguments);
  static constexpr std::size_t irrevocable_at = branch_set::irrevocable_at;
  static constexpr bool has_irrevocable = irrevocable_at < branch_count;

  // Returns true if the select has ended and nothing will wake the coroutine.
  bool begin() noexcept {
    bool here = false;
    try {
      const bool over = branches_.any([&](auto& a, auto index) {
        if constexpr (index() == irrevocable_at) return false;
        if constexpr (has_irrevocable && requires { a.begin_provisional(); }) {
          here = a.begin_provisional();
        } else {
          here = a.begin();
        }
        return here || winner() != nobody;
      });
      if constexpr (has_irrevocable) {
        if (!over) here = begin_irrevocable();
      }
    } catch (...) {
      // No operation has had an effect, unless an earlier one has won in the meantime.
      here = claim(error);
      if (here) begin_error_ = std::current_exception();
    }
    return here;
  }

  template <class Self>
  [[nodiscard]] static auto& irrevocable_branch(Self& self) noexcept {
    return self.branches_.template get<irrevocable_at>();
  }

  bool begin_irrevocable() {
    auto& last = irrevocable_branch(*this);
    if constexpr (!branch_set::template is_unlimited<irrevocable_at> &&
                  requires { last.keep_message(); }) {
      if (needs_message_) last.keep_message();
    }
    return last.begin();
  }

  // Undoes the winner, because the coroutine is destroyed with its scheduler before it resumes.
  [[gnu::cold]] void undo() noexcept {
    // While it settles, no wake-up is on its way.
    if (!is_settling()) withdraw_wakeup();
    undo_winner();
  }

  void undo_winner() noexcept {
    branches_.any([this](auto& a, auto index) {
      if (static_cast<int>(index()) != winner()) return false;
      if constexpr (requires { a.undo(); }) a.undo();
      return true;
    });
  }

  [[nodiscard]] bool is_settling() noexcept {
    if constexpr (has_irrevocable) return settling_ && !irrevocable_branch(*this).is_over();
    return false;
  }

  static bool has_pending([[maybe_unused]] const select_state& s) noexcept {
    if constexpr (has_irrevocable) {
      return !irrevocable_branch(static_cast<const select_awaiter&>(s)).is_over();
    }
    return false;
  }

  static void end_irrevocable([[maybe_unused]] select_state& s,
                              [[maybe_unused]] bool may_cancel) noexcept {
    if constexpr (has_irrevocable) {
      auto& self = static_cast<select_awaiter&>(s);
      auto& pending = irrevocable_branch(self);
      if constexpr (requires { pending.settle_after_begin(); }) {
        if (pending.settle_after_begin()) return;
      }
      self.settling_ = true;
      if constexpr (requires { pending.wake_at_end(); }) {
        if (!may_cancel) return pending.wake_at_end();
      }
      pending.request_cancel();
    }
  }

  static bool uses_memory([[maybe_unused]] const select_state& s) noexcept {
    if constexpr (has_irrevocable) {
      const auto& pending = irrevocable_branch(static_cast<const select_awaiter&>(s));
      if constexpr (requires { pending.uses_memory(); }) return pending.uses_memory();
    }
    return false;
  }

  // Withdraws the operations that have lost, and makes a provisional winner final. The irrevocable
  // operation is over: if it had an effect, it wins over another one, which is the result.
  int end() noexcept {
    suspended_ = false;
    const int first = winner();
    if constexpr (has_irrevocable) {
      constexpr int index = static_cast<int>(irrevocable_at);
      if (first != index && first != error && irrevocable_branch(*this).had_effect()) {
        undo_winner();
        replace_winner(index);
      }
    }
    branches_.any([this](auto& a, auto index) {
      if (static_cast<int>(index()) != winner()) {
        a.withdraw();
      } else if constexpr (has_irrevocable && requires { a.commit(); }) {
        a.commit();
      }
      return false;
    });
    return first;
  }

  // The result of the winner. `first` is the result of end().
  result_type result(int first) {
    if (begin_error_) std::rethrow_exception(begin_error_);
    auto operation = static_cast<std::size_t>(winner());
    if constexpr (has_limits) operation = branch_set::places[operation].operation;
    std::optional<result_type> won;
    branches_.any([&](auto& /*unused*/, auto index) {
      if constexpr (branch_set::template is_operation<index()>) {
        if (index() != operation) return false;
        won.emplace(std::in_place_index<branch_set::places[index()].argument>,
                    result_of<index()>(first));
        return true;
      }
      return false;
    });
    return std::move(*won);
  }

  // The result of an operation that has won, or whose limit has. `first` is the result of end().
  template <std::size_t Operation>
  auto result_of([[maybe_unused]] int first) {
    auto& a = branches_.template get<Operation>();
    if constexpr (Operation == irrevocable_at || !branch_set::template is_unlimited<Operation>) {
      const std::optional<limit_end> by = end_of<Operation>(first);
      if constexpr (requires { a.interrupt(*by); }) {
        if (by) a.interrupt(*by);
      } else {
        if (by) throw limit_error(*by, text_of<Operation>());
      }
      return a.result();  // an interrupted operation refers to `by`
    } else {
      return a.result();
    }
  }

  // The limit, or the stop of the task, that was to end an operation; empty if `first`, the result
  // of end(), is another operation.
  template <std::size_t Operation>
  [[nodiscard]] std::optional<limit_end> end_of(int first) noexcept {
    std::optional<limit_end> end;
    if (first == stop) end.emplace();
    branches_.any([&]([[maybe_unused]] auto& a, auto index) {
      if constexpr (index() != Operation && branch_set::places[index()].operation == Operation) {
        if (first == static_cast<int>(index())) end = a.as_limit();
      }
      return false;
    });
    return end;
  }

  static void describe_all(const select_state& s, std::ostream& out) {
    const branch_set& branches = static_cast<const select_awaiter&>(s).branches_;
    if (&s.what() == &select_kind) return branches.describe(out, s.winner());
    // The only operation of a limited_awaiter.
    branches.template describe_operation<branch_set::places[0].operation>(out, s.winner(),
                                                                          ", completed");
    if (s.winner() == stop) out << ", cancelled";
  }

  static constexpr functions the_functions{&describe_all, &has_pending, &end_irrevocable,
                                           &uses_memory};

  task_context* task_ = nullptr;
  bool suspended_ = false;
  bool settling_ = false;  // there is a winner, and the irrevocable operation has yet to end
  bool needs_message_ = true;
  std::exception_ptr begin_error_;
  branch_set branches_;
};

/// True for what select() returns.
template <class T>
inline constexpr bool is_select = false;
template <class... Arguments>
inline constexpr bool is_select<select_awaiter<Arguments...>> = true;

}  // namespace LEAT::detail
