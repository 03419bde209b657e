// Decodes any bytes as the JSON text of an Example. The text is refused, or the result is a message
// with values of these kinds.

#include <cstddef>
#include <cstdint>
#include <string>

#include "leat/codec/example/decode_example.hpp"
#include "leat/codec/example/decode_json_example.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string message;
  try {
    message = leat::decode_json_example({reinterpret_cast<const char*>(data), size});
  } catch (const leat::decode_error&) {
    return 0;
  }
  // decode_example() accepts every message that decode_json_example() returns.
  static_cast<void>(leat::decode_example(leat::as_bytes(message)));
  return 0;
}
