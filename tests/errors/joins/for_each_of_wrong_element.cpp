// expect: needs a function that accepts an element of the range
#include <string>
#include <vector>

#include "leat/async/for_each_concurrent.hpp"

leat::task<> visit(std::string& text);
leat::task<> run(const std::vector<std::string>& texts) {
  co_await leat::for_each_concurrent(texts, 2, [](std::string& text) { return visit(text); });
}
