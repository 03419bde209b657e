#pragma once

// The includes and names that the tests of plain functions share. Tests of coroutines include
// leat_test.hpp.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <catch2/catch.hpp>

#include "leat/base/bytes.hpp"
#include "leat/base/error.hpp"
#include "leat/base/random.hpp"
#include "support/refusal.hpp"

using leat::errc;
using leat_test::contains;
using leat_test::plain_message_of;
using leat_test::refusal;
