// Compares leat::queue_runner_def with protobuf's own reader and writer: equal bytes, equal values
// and equal refusals.

#include "leat/input/queue_runner_def.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <catch2/catch.hpp>
#include <google/protobuf/stubs/logging.h>

#include "oracle/generator.hpp"
#include "queue_runner.pb.h"
#include "support/effort.hpp"

namespace queue_runner_def_test {

using leat::errc;
using leat::queue_runner_def;
using leat_test::scaled_count;
using message = leat::oracle::QueueRunnerDef;

message to_message(const queue_runner_def& def) {
  message m;
  m.set_queue_name(def.queue_name);
  for (const std::string& name : def.enqueue_op_names) m.add_enqueue_op_name(name);
  m.set_close_op_name(def.close_op_name);
  m.set_cancel_op_name(def.cancel_op_name);
  for (const errc e : def.queue_closed_errors) {
    m.add_queue_closed_exception_types(static_cast<leat::oracle::Code>(e));
  }
  return m;
}

queue_runner_def to_def(const message& m) {
  queue_runner_def def;
  def.queue_name = m.queue_name();
  def.enqueue_op_names.assign(m.enqueue_op_name().begin(), m.enqueue_op_name().end());
  def.close_op_name = m.close_op_name();
  def.cancel_op_name = m.cancel_op_name();
  for (const int code : m.queue_closed_exception_types()) {
    def.queue_closed_errors.push_back(static_cast<errc>(code));
  }
  if (def.queue_closed_errors.empty()) def.queue_closed_errors = {errc::out_of_range};
  return def;
}

std::optional<queue_runner_def> read(const std::string& bytes) {
  try {
    return queue_runner_def::from_bytes(bytes);
  } catch (const leat::failure& e) {
    CHECK(e.code() == errc::data_loss);
    return std::nullopt;
  }
}

std::optional<queue_runner_def> read_with_protobuf(const std::string& bytes) {
  const google::protobuf::LogSilencer quiet;  // protobuf logs invalid UTF-8
  message m;
  if (!m.ParseFromString(bytes)) return std::nullopt;
  return to_def(m);
}

class generator : public oracle_test::generator_base {
 public:
  using generator_base::generator_base;

  std::string name() { return text(6); }

  queue_runner_def definition() {
    queue_runner_def def;
    def.queue_name = name();
    for (auto n = below(4); n > 0; --n) def.enqueue_op_names.push_back(name());
    def.close_op_name = name();
    def.cancel_op_name = name();
    for (auto n = 1 + below(4); n > 0; --n) {
      const auto code = static_cast<std::int32_t>(
          static_cast<std::uint32_t>(below(4) == 0 ? below(std::uint64_t{1} << 32) : below(18)));
      def.queue_closed_errors.push_back(static_cast<errc>(code));
    }
    return def;
  }

  // Returns a random field, mostly well-formed, and sometimes of another number.
  std::string field(int depth = 0) {
    std::string bytes;
    const std::uint64_t number = below(8) == 0 ? below(std::uint64_t{1} << 29) : below(7);
    const std::uint64_t kind = below(8) == 0 ? below(8) : below(2) * 2;
    append(bytes, number << 3 | kind);
    switch (kind) {
      case 0: append(bytes, below(2) == 0 ? below(20) : random_()); break;
      case 1: bytes.append(8, 'f'); break;
      case 2: {
        std::string inside = below(2) == 0 ? name() : std::string();
        for (auto n = below(4); inside.empty() && n > 0; --n) append(inside, below(300));
        append(bytes, inside.size());
        bytes += inside;
        break;
      }
      case 3:
        for (auto n = below(3); n > 0 && depth < 5; --n) bytes += field(depth + 1);
        append(bytes, number << 3 | 4);
        break;
      case 5: bytes.append(4, 'f'); break;
      default: break;
    }
    return bytes;
  }

 private:
  static void append(std::string& to, std::uint64_t number) {
    for (; number >= 0x80; number >>= 7) to += static_cast<char>((number & 0x7F) | 0x80);
    to += static_cast<char>(number);
  }
};

TEST_CASE("queue_runner_def: writes the bytes of protobuf and reads them", "[oracle]") {
  generator g(1);
  for (auto n = scaled_count(20'000); n > 0; --n) {
    const queue_runner_def def = g.definition();
    const std::string bytes = to_message(def).SerializeAsString();
    REQUIRE(def.to_bytes() == bytes);
    REQUIRE(queue_runner_def::from_bytes(bytes) == def);
    REQUIRE(read_with_protobuf(bytes) == def);
  }
}

TEST_CASE("queue_runner_def: reads what protobuf reads, and refuses the rest", "[oracle]") {
  generator g(2);
  std::uint64_t refused = 0;
  std::uint64_t read_well = 0;
  for (auto n = scaled_count(200'000); n > 0; --n) {
    std::string bytes = g.below(2) == 0 ? g.definition().to_bytes() : std::string();
    for (auto n = g.below(5); n > 0; --n) bytes += g.field();
    for (auto n = g.below(3); n > 0; --n) g.damage(bytes);
    const auto expected = read_with_protobuf(bytes);
    INFO(Catch::Detail::stringify(std::vector<int>(bytes.begin(), bytes.end())));
    REQUIRE(read(bytes) == expected);
    ++(expected ? read_well : refused);
  }
  CHECK(refused > scaled_count(20'000));
  CHECK(read_well > scaled_count(20'000));
}

TEST_CASE("queue_runner_def: accepts as many nested groups as protobuf", "[oracle]") {
  for (std::size_t depth = 95; depth <= 105; ++depth) {
    const std::string bytes = std::string(depth, '\x33') + std::string(depth, '\x34');
    CHECK(read(bytes) == read_with_protobuf(bytes));
  }
}

TEST_CASE("queue_runner_def: the codes are those of the errors", "[oracle]") {
  const leat::oracle::Code last = leat::oracle::Code_MAX;
  CHECK(static_cast<int>(last) == static_cast<int>(errc::unauthenticated));
  for (int code = 1; code <= last; ++code) {
    std::string words = leat::make_error_code(static_cast<errc>(code)).message();
    std::string name = leat::oracle::Code_Name(code);
    for (char& c : name) c = c == '_' ? ' ' : static_cast<char>(std::tolower(c));
    CHECK(words.starts_with(name));  // some messages are longer
  }
}

}  // namespace queue_runner_def_test
