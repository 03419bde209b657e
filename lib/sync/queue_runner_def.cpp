#include "leat/sync/queue_runner_def.hpp"

#include <cstdint>

#include <protozero/exception.hpp>
#include <protozero/pbf_writer.hpp>
#include <protozero/varint.hpp>

#include "sync/utf8.hpp"

namespace leat {
namespace {

enum field : std::uint32_t { queue = 1, enqueue = 2, close = 3, cancel = 4, closed_errors = 5 };

// What stands in one field: a number, or a run of bytes.
enum class wire : std::uint32_t {
  varint = 0,
  fixed64 = 1,
  bytes = 2,
  group_begin = 3,
  group_end = 4,
  fixed32 = 5
};

struct damage {
  const char* what;
};

// Reads field by field. protozero's own reader takes lengths and tags modulo 2^32, and knows no
// groups: it would accept what protobuf refuses, and the other way round.
class reader {
 public:
  explicit reader(std::string_view bytes) noexcept
      : at_(bytes.data()), end_(bytes.data() + bytes.size()) {}

  [[nodiscard]] const char* at() const noexcept { return at_; }
  [[nodiscard]] bool done() const noexcept { return at_ == end_; }

  std::uint64_t varint() {
    try {
      return protozero::decode_varint(&at_, end_);
    } catch (const protozero::exception&) {
      throw damage{"a number that is cut short or too long"};
    }
  }

  // A number in at most five bytes.
  std::uint64_t short_varint() {
    const char* const begin = at_;
    const std::uint64_t value = varint();
    if (at_ - begin > 5) throw damage{"a tag or length that is too long"};
    return value;
  }

  std::uint32_t tag() {
    const auto tag = static_cast<std::uint32_t>(short_varint());
    if (tag >> 3 == 0) throw damage{"a field of number 0"};
    return tag;
  }

  std::string_view bytes() {
    const std::uint64_t size = short_varint();
    return take(size, "a length that is more than what is left");
  }

  std::string name() {
    const std::string_view text = bytes();
    if (!detail::is_utf8(text)) throw damage{"a name that is not UTF-8"};
    return std::string(text);
  }

  // Goes past the field with this tag, whatever it holds.
  void skip(std::uint32_t tag, int depth = 0) {
    constexpr int max_depth = 100;  // protobuf's own
    switch (static_cast<wire>(tag & 7)) {
      case wire::varint: static_cast<void>(varint()); return;
      case wire::fixed64: take(8, "a field that is cut short"); return;
      case wire::fixed32: take(4, "a field that is cut short"); return;
      case wire::bytes: static_cast<void>(bytes()); return;
      case wire::group_begin: break;
      default: throw damage{"a field of an unknown kind"};
    }
    if (depth == max_depth) throw damage{"too many groups in each other"};
    for (;;) {
      const std::uint32_t inner = this->tag();
      if (static_cast<wire>(inner & 7) == wire::group_end) {
        if (inner >> 3 != tag >> 3) throw damage{"a group that ends as another one"};
        return;
      }
      skip(inner, depth + 1);
    }
  }

 private:
  std::string_view take(std::uint64_t size, const char* otherwise) {
    if (size > static_cast<std::uint64_t>(end_ - at_)) throw damage{otherwise};
    const std::string_view taken(at_, static_cast<std::size_t>(size));
    at_ += size;
    return taken;
  }

  const char* at_;
  const char* end_;
};

constexpr std::uint32_t tag_of(field f, wire w) noexcept {
  return static_cast<std::uint32_t>(f) << 3 | static_cast<std::uint32_t>(w);
}

// An enumerator has 32 bits, and ten bytes when it is negative.
errc to_errc(std::uint64_t number) noexcept {
  return static_cast<errc>(static_cast<std::int32_t>(static_cast<std::uint32_t>(number)));
}

void read_field(reader& in, queue_runner_def& def) {
  const std::uint32_t tag = in.tag();
  switch (tag) {
    case tag_of(queue, wire::bytes): def.queue_name = in.name(); return;
    case tag_of(enqueue, wire::bytes): def.enqueue_op_names.push_back(in.name()); return;
    case tag_of(close, wire::bytes): def.close_op_name = in.name(); return;
    case tag_of(cancel, wire::bytes): def.cancel_op_name = in.name(); return;
    case tag_of(closed_errors, wire::varint):
      def.queue_closed_errors.push_back(to_errc(in.varint()));
      return;
    case tag_of(closed_errors, wire::bytes): {
      reader packed(in.bytes());
      while (!packed.done()) def.queue_closed_errors.push_back(to_errc(packed.varint()));
      return;
    }
    default: in.skip(tag);
  }
}

const std::string& checked(const std::string& name) {
  if (!detail::is_utf8(name)) {
    throw failure(errc::invalid_argument,
                  "a name in a definition of a queue_runner is not UTF-8: '" + name + "'");
  }
  return name;
}

}  // namespace

std::string queue_runner_def::to_bytes() const {
  std::string bytes;
  protozero::pbf_writer out(bytes);
  if (!queue_name.empty()) out.add_string(queue, checked(queue_name));
  for (const std::string& name : enqueue_op_names) out.add_string(enqueue, checked(name));
  if (!close_op_name.empty()) out.add_string(close, checked(close_op_name));
  if (!cancel_op_name.empty()) out.add_string(cancel, checked(cancel_op_name));
  const std::vector<std::int32_t> codes = [this] {
    std::vector<std::int32_t> numbers;
    for (const errc e : queue_closed_errors) numbers.push_back(static_cast<std::int32_t>(e));
    return numbers;
  }();
  out.add_packed_enum(closed_errors, codes.begin(), codes.end());
  return bytes;
}

queue_runner_def queue_runner_def::from_bytes(std::string_view bytes) {
  queue_runner_def def;
  reader in(bytes);
  while (!in.done()) {
    const std::size_t offset = static_cast<std::size_t>(in.at() - bytes.data());
    try {
      read_field(in, def);
    } catch (const damage& d) {
      throw failure(errc::data_loss, "a definition of a queue_runner of " +
                                         std::to_string(bytes.size()) +
                                         " bytes is damaged: in the field at offset " +
                                         std::to_string(offset) + " stands " + d.what);
    }
  }
  return def;
}

// ----------------------------------------------------------------------------------------- scopes

std::optional<std::string_view> name_in_scope(std::string_view name,
                                              std::string_view scope) noexcept {
  if (scope.empty()) return name;
  const bool inside =
      name.size() > scope.size() && name.starts_with(scope) && name[scope.size()] == '/';
  if (!inside) return std::nullopt;
  return name.substr(scope.size() + 1);
}

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
  if (!name_in_scope(queue_name, scope)) return std::nullopt;
  std::optional<queue_runner_def> def = *this;
  change_names(*def, [&](std::string& name) {
    if (const auto rest = name_in_scope(name, scope)) name = std::string(*rest);
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

}  // namespace leat
