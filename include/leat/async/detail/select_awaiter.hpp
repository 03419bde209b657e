#pragma once

#include <array>
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

#include "leat/async/detail/promise.hpp"
#include "leat/async/detail/result_tuple.hpp"
#include "leat/async/detail/select_state.hpp"
#include "leat/base/detail/assert.hpp"
#include "leat/base/error.hpp"

namespace leat::detail {

[[nodiscard, gnu::cold]] failure select_cancelled(const std::string& what);
[[nodiscard, gnu::cold]] failure limit_error(errc end, const std::string& what);

template <class Operation>
using branch_result = decltype(std::declval<select_branch<Operation>&>().result());

template <std::size_t I, class Operation>
struct indexed_branch : select_branch<Operation> {
  template <class From>
  indexed_branch(From&& from, select_state& s)
      : select_branch<Operation>(std::move(from), s, static_cast<int>(I)) {}
};

template <class Indices, class... Operations>
struct select_branches;
template <std::size_t... I, class... Operations>
struct select_branches<std::index_sequence<I...>, Operations...>
    : indexed_branch<I, Operations>... {
  explicit select_branches(select_state& s, Operations&&... operations)
      : indexed_branch<I, Operations>(std::move(operations), s)... {}
  select_branches(select_state& s, select_branches&& unstarted)
      : indexed_branch<I, Operations>(static_cast<indexed_branch<I, Operations>&&>(unstarted),
                                      s)... {}

  // Calls f with each branch and its number until f returns true.
  template <class F>
  bool any(F&& f) {
    return (f(static_cast<indexed_branch<I, Operations>&>(*this),
              std::integral_constant<std::size_t, I>()) ||
            ...);
  }
  void describe(std::ostream& out) const { (describe_branch<I, Operations>(out), ...); }

  void describe_first(std::ostream& out) const {
    using first = std::tuple_element_t<0, std::tuple<Operations...>>;
    static_cast<const indexed_branch<0, first>&>(*this).describe(out);
  }

 private:
  // Timers have no names, so the description of the first one gives the number of all: "2 timers".
  template <std::size_t J, class Operation>
  void describe_branch(std::ostream& out) const {
    constexpr int count = (static_cast<int>(std::is_same_v<Operations, Operation>) + ...);
    constexpr bool is_first = ((I >= J || !std::is_same_v<Operations, Operation>) && ...);
    if constexpr (plural_name<Operation> == nullptr || count == 1) {
      out << (J == 0 ? "" : ", or ");
      static_cast<const indexed_branch<J, Operation>&>(*this).describe(out);
    } else if constexpr (is_first) {
      out << (J == 0 ? "" : ", or ") << count << plural_name<Operation>;
    }
  }
};

/// The index of the irrevocable operation, or the number of operations if none is irrevocable.
template <class... Operations>
consteval std::size_t irrevocable_index() {
  constexpr std::array<bool, sizeof...(Operations)> is_irrevocable{irrevocable<Operations>...};
  std::size_t index = 0;
  while (index < is_irrevocable.size() && !is_irrevocable[index]) ++index;
  return index;
}

/// The awaitable that select() returns. Movable until it is awaited.
template <class... Operations>
class [[nodiscard]] select_awaiter final : public select_state {
 public:
  using result_type = std::variant<branch_result<Operations>...>;

  explicit select_awaiter(const std::source_location& where, Operations&&... operations)
      : select_state(the_functions, where), branches_(*this, std::move(operations)...) {}
  select_awaiter(select_awaiter&& unstarted) noexcept
      : select_state(the_functions, unstarted.where()),
        branches_(*this, std::move(unstarted.branches_)) {
    LEAT_ASSERT(unstarted.winner() == nobody && !unstarted.suspended_,
                "select moved after it was awaited: create a new one for each co_await");
  }
  select_awaiter& operator=(select_awaiter&&) = delete;
  ~select_awaiter() {
    // If the coroutine is destroyed while it waits, no operation may win any more.
    if (suspended_ && !claim(stop)) undo();
  }

  /// Called by leat::task before anything else.
  void bind(promise_base& promise, std::coroutine_handle<>,
            const std::source_location& awaited_at) noexcept {
    task_ = &promise.context();
    if (where().line() == 0) set_where(awaited_at);  // its first operation does not know its own
  }

  bool await_ready() {
    LEAT_ASSERT(winner() == nobody,
                "select() or a time limit awaited twice: create a new one for each co_await");
    const bool stopped = task_ && task_->stop_requested();
    const bool done = branches_.any([&](auto& a, auto index) {
      return (!stopped || is_empty_operation(a)) && a.try_complete() &&
             claim(static_cast<int>(index()));
    });
    // Do not wait after a stop: operations that were not tried have reserved no memory for a wait.
    if (stopped && !done) return claim(stop);
    return done && (!task_ || task_->get_scheduler().consume_budget());
  }

  bool await_suspend(std::coroutine_handle<> h) {
    begin_wait(task_, h);
    if constexpr (has_irrevocable) settle_before_resuming();
    suspended_ = true;
    if (winner() != nobody) {  // complete, but other ready tasks run first
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
    end();
    if (winner() == stop) throw select_cancelled(text());
    return result();
  }
  /// Like await_resume() of an operation and its limit: the messages describe only the operation.
  result_type resume_limited(errc limit_code) {
    end();
    if (winner() == stop) throw limit_error(errc::cancelled, text_of_first());
    if (winner() == 1) throw limit_error(limit_code, text_of_first());
    return result();
  }
  result_tuple<result_type> await_tuple() noexcept {
    end();
    const bool stopped = winner() == stop;
    return tuple_of<result_type>(stopped ? make_error_code(errc::cancelled) : std::error_code(),
                                 [this] { return result(); });
  }

  /// Lets the last operation keep its description for the message of its error.
  void keep_message() noexcept {
    auto& last = branch<sizeof...(Operations) - 1>();
    if constexpr (requires { last.keep_message(); }) last.keep_message();
  }

  /// Ends a select whose last operation may be completed in part, and returns the branch of that
  /// operation. If another operation has won, the last one fails with `limit_code` unless it is
  /// already complete.
  auto& finish_partial(std::error_code limit_code) {
    const int first = winner();  // end() may replace it by the last operation
    end();
    if (begin_error_) std::rethrow_exception(begin_error_);
    constexpr std::size_t index = sizeof...(Operations) - 1;
    auto& last = branch<index>();
    if (first == stop) limit_code = make_error_code(errc::cancelled);
    if (first != static_cast<int>(index)) last.interrupt(limit_code);
    return last;
  }

 private:
  // Describes the operations that are waited for.
  [[nodiscard]] std::string text() const {
    std::ostringstream out;
    branches_.describe(out);
    return std::move(out).str();
  }
  [[nodiscard]] std::string text_of_first() const {
    std::ostringstream out;
    branches_.describe_first(out);
    return std::move(out).str();
  }

  static constexpr std::size_t irrevocable_at = irrevocable_index<Operations...>();
  static constexpr bool has_irrevocable = irrevocable_at < sizeof...(Operations);

  template <std::size_t I>
  auto& branch() noexcept {
    using operation = std::tuple_element_t<I, std::tuple<Operations...>>;
    return static_cast<indexed_branch<I, operation>&>(branches_);
  }

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
        if (!over) here = branch<irrevocable_at>().begin();
      }
    } catch (...) {
      // No operation has had an effect, unless an earlier one has won in the meantime.
      here = claim(error);
      if (here) begin_error_ = std::current_exception();
    }
    return here;
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
    if constexpr (has_irrevocable) return settling_ && !branch<irrevocable_at>().is_over();
    return false;
  }

  static bool cancel_irrevocable([[maybe_unused]] select_state& s) noexcept {
    if constexpr (has_irrevocable) {
      auto& self = static_cast<select_awaiter&>(s);
      auto& pending = self.template branch<irrevocable_at>();
      if (pending.is_over()) return false;
      self.settling_ = true;
      pending.request_cancel();
      return true;
    }
    return false;
  }

  static bool uses_memory([[maybe_unused]] const select_state& s) noexcept {
    if constexpr (has_irrevocable) {
      using operation = std::tuple_element_t<irrevocable_at, std::tuple<Operations...>>;
      const auto& self = static_cast<const select_awaiter&>(s);
      const auto& pending =
          static_cast<const indexed_branch<irrevocable_at, operation>&>(self.branches_);
      if constexpr (requires { pending.uses_memory(); }) return pending.uses_memory();
    }
    return false;
  }

  // Withdraws the operations that have lost, and makes a provisional winner final. The irrevocable
  // operation is over: if it had an effect, it wins over another one.
  void end() noexcept {
    suspended_ = false;
    if constexpr (has_irrevocable) {
      constexpr int index = static_cast<int>(irrevocable_at);
      if (winner() != index && winner() != error && branch<irrevocable_at>().had_effect()) {
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
  }

  result_type result() {
    if (begin_error_) std::rethrow_exception(begin_error_);
    std::optional<result_type> won;
    branches_.any([&](auto& a, auto index) {
      if (static_cast<int>(index()) != winner()) return false;
      won.emplace(std::in_place_index<index()>, a.result());
      return true;
    });
    return std::move(*won);
  }

  static void describe_all(const select_state& s, std::ostream& out) {
    static_cast<const select_awaiter&>(s).branches_.describe(out);
  }

  static constexpr functions the_functions{&describe_all, &cancel_irrevocable, &uses_memory};

  task_context* task_ = nullptr;
  bool suspended_ = false;
  bool settling_ = false;  // there is a winner, and the irrevocable operation was asked to end
  std::exception_ptr begin_error_;
  select_branches<std::index_sequence_for<Operations...>, Operations...> branches_;
};

}  // namespace leat::detail
