#include "leat/input/queue_runner_def.hpp"

#include <cstdint>
#include <memory>

#include <protozero/pbf_writer.hpp>

#include "base/text/protobuf_reader.hpp"
#include "base/text/utf8.hpp"
#include "coordination/internal/name_scope.hpp"
#include "leat/coordination/queue_runner.hpp"
#include "leat/input/queue_runner_resolver.hpp"

namespace LEAT {
namespace {

using detail::make_tag;
using detail::malformed_message;
using detail::protobuf_reader;
using detail::wire_type;

struct def_field {
  enum : std::uint32_t { queue = 1, enqueue = 2, close = 3, cancel = 4, closed_errors = 5 };
};

// An enumerator has 32 bits, and takes ten bytes if it is negative.
errc to_errc(std::uint64_t number) noexcept {
  return static_cast<errc>(static_cast<std::int32_t>(static_cast<std::uint32_t>(number)));
}

std::string name_of(protobuf_reader& in) {
  const std::string_view text = in.bytes();
  if (!detail::is_utf8(text)) throw malformed_message{"a name that is not UTF-8"};
  return std::string(text);
}

void read_field(protobuf_reader& in, queue_runner_def& def) {
  const std::uint32_t tag = in.tag();
  switch (tag) {
    case make_tag(def_field::queue, wire_type::bytes): def.queue_name = name_of(in); return;
    case make_tag(def_field::enqueue, wire_type::bytes):
      def.enqueue_op_names.push_back(name_of(in));
      return;
    case make_tag(def_field::close, wire_type::bytes): def.close_op_name = name_of(in); return;
    case make_tag(def_field::cancel, wire_type::bytes): def.cancel_op_name = name_of(in); return;
    case make_tag(def_field::closed_errors, wire_type::varint):
      def.queue_closed_errors.push_back(to_errc(in.varint()));
      return;
    case make_tag(def_field::closed_errors, wire_type::bytes): {
      protobuf_reader packed(in.bytes());
      while (!packed.done()) def.queue_closed_errors.push_back(to_errc(packed.varint()));
      return;
    }
    default: in.skip(tag);
  }
}

const std::string& checked_name(const std::string& name) {
  if (!detail::is_utf8(name)) {
    throw failure(errc::invalid_argument, "queue_runner_def: name is not UTF-8: '" + name + "'");
  }
  return name;
}

queue_base& queue_of(const queue_runner_def& def, const queue_runner_resolver& names) {
  if (def.queue_name.empty()) {
    throw failure(errc::invalid_argument, "queue_runner_def: no queue name: set queue_name");
  }
  if (def.enqueue_op_names.empty()) {
    throw failure(errc::invalid_argument, "queue_runner_def '" + def.queue_name +
                                              "': no enqueue operation: add a name to "
                                              "enqueue_op_names");
  }
  return names.find_queue(def.queue_name);
}

queue_runner_options options_of(const queue_runner_def& def, const queue_runner_resolver& names) {
  queue_runner_options options;
  if (!def.queue_closed_errors.empty()) options.queue_closed_errors = def.queue_closed_errors;
  options.close_op = names.find_close(def.close_op_name);
  options.cancel_op = names.find_close(def.cancel_op_name);
  return options;
}

}  // namespace

std::string queue_runner_def::to_bytes() const {
  std::string bytes;
  protozero::pbf_writer out(bytes);
  if (!queue_name.empty()) out.add_string(def_field::queue, checked_name(queue_name));
  for (const std::string& name : enqueue_op_names)
    out.add_string(def_field::enqueue, checked_name(name));
  if (!close_op_name.empty()) out.add_string(def_field::close, checked_name(close_op_name));
  if (!cancel_op_name.empty()) out.add_string(def_field::cancel, checked_name(cancel_op_name));
  const std::vector<std::int32_t> codes = [this] {
    std::vector<std::int32_t> numbers;
    for (const errc e : queue_closed_errors) numbers.push_back(static_cast<std::int32_t>(e));
    return numbers;
  }();
  out.add_packed_enum(def_field::closed_errors, codes.begin(), codes.end());
  return bytes;
}

queue_runner_def queue_runner_def::from_bytes(std::string_view bytes) {
  queue_runner_def def;
  protobuf_reader in(bytes);
  while (!in.done()) {
    const std::size_t offset = static_cast<std::size_t>(in.at() - bytes.data());
    try {
      read_field(in, def);
    } catch (const malformed_message& d) {
      throw failure(errc::data_loss, "queue_runner_def of " + std::to_string(bytes.size()) +
                                         " bytes is corrupt at offset " + std::to_string(offset) +
                                         ": " + d.what);
    }
  }
  if (def.queue_closed_errors.empty()) def.queue_closed_errors = {errc::out_of_range};
  return def;
}

// ----------------------------------------------------------------------------------------- scopes

namespace {

template <class Change>
void change_names(queue_runner_def& def, Change change) {
  change(def.queue_name);
  for (std::string& name : def.enqueue_op_names) change(name);
  change(def.close_op_name);
  change(def.cancel_op_name);
}

}  // namespace

std::optional<queue_runner_def> queue_runner_def::without_scope(std::string_view scope) const {
  if (!detail::name_in_scope(queue_name, scope)) return std::nullopt;
  std::optional<queue_runner_def> def = *this;
  change_names(*def, [&](std::string& name) {
    if (const auto rest = detail::name_in_scope(name, scope)) name = std::string(*rest);
  });
  return def;
}

queue_runner_def queue_runner_def::with_scope(std::string_view scope) const {
  queue_runner_def def = *this;
  if (scope.empty()) return def;
  change_names(def, [&](std::string& name) {
    if (!name.empty()) name = std::string(scope) + "/" + name;
  });
  return def;
}

// --------------------------------------------------------------------------------------- runners

queue_runner_def queue_runner_def::of(const queue_runner& runner) {
  const queue_runner_options& options = runner.options();
  return {.queue_name = runner.queue_name(),
          .enqueue_op_names = runner.operation_names(),
          .close_op_name = options.close_op.name,
          .cancel_op_name = options.cancel_op.name,
          .queue_closed_errors = options.queue_closed_errors};
}

std::unique_ptr<queue_runner> make_queue_runner(const queue_runner_def& def,
                                                const queue_runner_resolver& names) {
  auto runner = std::make_unique<queue_runner>(queue_of(def, names), options_of(def, names));
  for (const std::string& op : def.enqueue_op_names) runner->add(names.find_enqueue(op), op);
  return runner;
}

}  // namespace LEAT
