#include "async/dump/internal/dump_printers.hpp"

#include <unistd.h>

#include <chrono>
#include <ostream>
#include <sstream>
#include <string_view>

#include "base/text/json_writer.hpp"
#include "base/text/text_in_seconds.hpp"

namespace LEAT::detail {
namespace {

std::int64_t in_milliseconds(duration d) {
  return std::chrono::duration_cast<std::chrono::milliseconds>(d).count();
}

std::string to_text(const wait_state& w) {
  return wait_text(w.verb, w.words) + ", at " + to_text(w.at) + ", for " +
         text_in_seconds(w.lasted);
}

std::string to_text(const thread_state& t) {
  if (t.waiting) return to_text(*t.waiting);
  return t.started_elsewhere ? "not known: it was started elsewhere" : "running";
}

std::string waiter_of(const waiting_operation& w) {
  using waiter = waiting_operation::waiter;
  switch (w.who) {
    case waiter::task: return w.name.empty() ? "a task" : w.name;
    case waiter::coroutine: return "a coroutine";
    case waiter::handler: return "an Asio handler";
    case waiter::thread: return w.name.empty() ? "a thread" : "thread " + w.name;
  }
  return {};
}

// --------------------------------------------------------------------------------- for a person

class text_printer {
 public:
  explicit text_printer(std::ostream& out) noexcept : out_(out) {}

  void print(const scope_state& s, std::size_t depth) {
    out_ << indent(depth) << s.kind;
    if (!s.name.empty()) out_ << " '" << s.name << "'";
    print_count(s.tasks.size(), "task");
    if (!s.threads.empty()) print_count(s.threads.size(), "thread");
    if (s.stop_requested) out_ << ", stop requested";
    out_ << '\n';
    print_members(s, depth + 1);
  }

  void print_members(const scope_state& s, std::size_t depth) {
    for (const thread_state& t : s.threads) {
      out_ << indent(depth) << "thread " << t.name << ": " << to_text(t) << '\n';
      for (const scope_state& made : t.scopes) print(made, depth + 1);
    }
    for (const task_state& t : s.tasks) {
      out_ << indent(depth) << t.name << ": ";
      for (const char c : describe_position(t)) {
        out_ << c;
        if (c == '\n') out_ << indent(depth + 1);
      }
      out_ << '\n';
      for (const scope_state& made : t.scopes) print(made, depth + 1);
    }
  }

  void print(const object_state& q) {
    out_ << q.words;
    if (q.close_waits) out_ << ", a close waits for the pushes";
    if (!q.waiting.empty()) {
      print_count(q.waiting.size(), "operation");
      out_ << (q.waiting.size() == 1 ? " waits" : " wait");
    }
    out_ << '\n';
    for (const waiting_operation& w : q.waiting) {
      out_ << indent(1) << to_text(w) << '\n';
    }
  }

  void print(const std::vector<wait_cycle>& cycles, std::size_t depth) {
    for (const wait_cycle& c : cycles) out_ << indent(depth) << c.text << '\n';
  }

 private:
  // Deeper lines begin with their level, so that a dump is not quadratic in the depth.
  static std::string indent(std::size_t depth) {
    constexpr std::size_t deepest = 32;
    if (depth <= deepest) return std::string(depth * 2, ' ');
    return std::string(deepest * 2, ' ') + '[' + std::to_string(depth) + "] ";
  }

  void print_count(std::size_t count, std::string_view what) {
    out_ << ", " << count << ' ' << what << (count == 1 ? "" : "s");
  }

  std::ostream& out_;
};

// -------------------------------------------------------------------------------- for a program

// The schema is described in docs/dump_format.md.
class json_printer {
 public:
  explicit json_printer(std::ostream& out) noexcept : json_(out) {}

  void print(const process_snapshot& state) {
    json_.begin_object().member("schema", std::uint64_t{1});
    json_.member("process", static_cast<std::uint64_t>(::getpid()));
    print_array("scopes", state.scopes);
    print_array("schedulers_not_answering", state.unresponsive);
    json_.key("queues").begin_array();
    for (const object_state& o : state.objects) {
      if (o.type == "queue") print_queue(o);
    }
    json_.end_array().key("primitives").begin_array();
    for (const object_state& o : state.objects) {
      if (o.type != "queue") print_primitive(o);
    }
    json_.end_array();
    print_array("cycles", state.cycles);
    json_.end_object();
  }

 private:
  template <class Element>
  void print_array(std::string_view name, const std::vector<Element>& elements) {
    json_.key(name).begin_array();
    for (const Element& e : elements) print_element(e);
    json_.end_array();
  }

  void print_element(const scope_state& s) {
    json_.begin_object().member("id", s.number).member("kind", s.kind).member("name", s.name);
    json_.member("stop_requested", s.stop_requested);
    print_array("tasks", s.tasks);
    print_array("threads", s.threads);
    json_.end_object();
  }

  void print_element(const task_state& t) {
    json_.begin_object().member("id", to_text(t.id)).member("name", t.name);
    json_.key("spawned_at");
    print_element(t.spawned_at);
    json_.member("scheduler", to_text(t.scheduler));
    json_.member("state", t.waiting ? "waiting" : t.answered ? "running" : "unknown");
    print_wait(t.waiting);
    print_array("awaited_at", t.awaited_at);
    if (!t.values.empty()) {
      json_.key("values").begin_object();
      for (const auto& [name, value] : t.values) json_.member(name, value);
      json_.end_object();
    }
    print_array("scopes", t.scopes);
    json_.end_object();
  }

  void print_element(const thread_state& t) {
    json_.begin_object().member("id", to_text(t.id)).member("name", t.name);
    json_.member("state", t.waiting ? "waiting" : t.started_elsewhere ? "unknown" : "running");
    print_wait(t.waiting);
    print_array("scopes", t.scopes);
    json_.end_object();
  }

  void print_element(const code_location& p) {
    json_.begin_object().member("file", p.file).member("line", std::uint64_t{p.line});
    json_.member("function", p.function).end_object();
  }

  void print_element(const unresponsive_scheduler& s) {
    json_.begin_object().member("scheduler", to_text(s.scheduler));
    json_.member("tasks", std::uint64_t{s.tasks}).end_object();
  }

  void print_queue(const object_state& q) {
    json_.begin_object().member("name", q.name).member("words", q.words);
    json_.member("size", std::uint64_t{q.size}).key("capacity");
    q.capacity ? json_.value(std::uint64_t{*q.capacity}) : json_.null();
    json_.member("closed", q.closed).member("close_waits", q.close_waits);
    json_.member("refused", q.refused);
    print_array("waiting", q.waiting);
    json_.end_object();
  }

  void print_primitive(const object_state& o) {
    json_.begin_object().member("type", o.type).member("name", o.name).member("words", o.words);
    print_array("waiting", o.waiting);
    json_.end_object();
  }

  void print_element(const waiting_operation& w) {
    json_.begin_object().member("verb", w.verb);
    json_.member("waiter", to_text(w.who)).member("name", w.name).key("id");
    w.task != task_id{} ? json_.value(to_text(w.task)) : json_.null();
    json_.member("select", w.selected).key("at");
    print_element(to_code_location(w.at));
    json_.member("asked", std::uint64_t{w.asked}).member("done", std::uint64_t{w.done});
    json_.end_object();
  }

  void print_element(const wait_cycle& c) {
    json_.begin_object().member("certain", c.certain).key("members").begin_array();
    for (const task_id id : c.tasks) json_.value(to_text(id));
    json_.end_array().member("text", c.text).end_object();
  }

  void print_wait(const std::optional<wait_state>& waiting) {
    json_.key("wait");
    if (!waiting) {
      json_.null();
      return;
    }
    const wait_state& w = *waiting;
    json_.begin_object().member("verb", w.verb).member("words", w.words).key("at");
    print_element(w.at);
    json_.key("seconds").milliseconds(in_milliseconds(w.lasted)).key("object");
    print_object(w.object);
    json_.end_object();
  }

  void print_object(const wait_target& o) {
    if (o.type.empty()) {
      json_.null();
      return;
    }
    json_.begin_object().member("type", o.type).member("name", o.name);
    if (o.size) {
      json_.member("size", std::uint64_t{*o.size}).key("capacity");
      o.capacity ? json_.value(std::uint64_t{*o.capacity}) : json_.null();
      json_.member("asked", std::uint64_t{o.asked}).member("done", std::uint64_t{o.done});
    }
    if (o.closed) json_.member("closed", *o.closed);
    if (o.stream_state) {
      json_.member("operation", o.operation).member("state", o.stream_state->state);
      json_.member("unread", std::uint64_t{o.stream_state->unread});
      json_.member("unsent", std::uint64_t{o.stream_state->unsent}).key("last_received_seconds");
      json_.milliseconds(in_milliseconds(o.stream_state->last_received));
    }
    if (o.scope != 0) json_.member("scope", o.scope);
    if (o.holder) {
      json_.key("holder").begin_object().key("id");
      o.holder->task != task_id{} ? json_.value(to_text(o.holder->task)) : json_.null();
      json_.key("at");
      print_element(to_code_location(o.holder->at));
      json_.key("seconds").milliseconds(in_milliseconds(o.holder->lasted)).end_object();
    }
    json_.end_object();
  }

  static std::string_view to_text(waiting_operation::waiter who) {
    using waiter = waiting_operation::waiter;
    switch (who) {
      case waiter::task: return "task";
      case waiter::coroutine: return "coroutine";
      case waiter::handler: return "handler";
      case waiter::thread: return "thread";
    }
    return {};
  }
  static std::string to_text(task_id id) {
    return std::to_string(id.scope) + "." + std::to_string(id.index);
  }
  static std::string to_text(const void* address) {
    std::ostringstream text;
    text << address;
    return std::move(text).str();
  }

  json_writer json_;
};

}  // namespace

std::string to_text(const waiting_operation& w) {
  std::ostringstream text;
  text << w.verb << " of " << waiter_of(w) << ", at " << to_text(to_code_location(w.at));
  if (w.is_batch) {
    text << ", " << w.done << " of " << w.asked << " done";
  } else if (w.asked > 1) {
    text << ", " << w.asked << " permits";
  }
  if (w.selected) text << ", in a select";
  return std::move(text).str();
}

std::string to_text(const wait_target::hold& h, std::string_view name) {
  std::string text = ", held";
  if (!name.empty()) text += " by '" + std::string(name) + "'";
  text += " for " + text_in_seconds(h.lasted);
  if (h.at.line() != 0) text += " at " + to_text(to_code_location(h.at));
  return text;
}

std::string describe_position(const task_state& task) {
  std::string text = task.waiting    ? to_text(*task.waiting)
                     : task.answered ? "running or ready to run"
                                     : "not known: its scheduler does not answer";
  if (!task.held_by.empty()) text += ": " + task.held_by;
  for (const code_location& p : task.awaited_at) text += "\nawaited at " + to_text(p);
  for (const auto& [name, value] : task.values) text += "\nwith " + name + " " + value;
  return text;
}

void print_text(const process_snapshot& state, std::ostream& out) {
  text_printer printer(out);
  for (const scope_state& s : state.scopes) printer.print(s, 0);
  for (const object_state& o : state.objects) printer.print(o);
  printer.print(state.cycles, 0);
}

void print_json(const process_snapshot& state, std::ostream& out) {
  json_printer(out).print(state);
  out << '\n';
}

std::string members_text(const process_snapshot& state) {
  const scope_state& owner = state.scopes.front();
  // Scopes that its tasks created before they ended belong to the report of their owners.
  if (owner.tasks.empty() && owner.threads.empty()) return {};
  std::ostringstream out;
  text_printer printer(out);
  printer.print_members(owner, 1);
  for (std::size_t i = 1; i < state.scopes.size(); ++i) printer.print(state.scopes[i], 1);
  printer.print(state.cycles, 1);
  return std::move(out).str();
}

}  // namespace LEAT::detail
