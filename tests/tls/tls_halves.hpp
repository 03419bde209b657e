#pragma once

#include "leat/tls.hpp"
#include "net/net_halves.hpp"
#include "tls/certificates.hpp"

namespace leat_test {

/// Shakes hands at both ends. Errors: that of the server, if both fail.
task<ends> secure_with(ends plain, leat::tls_context client, leat::tls_context server);
/// The same with certificates of test_authority().
task<ends> secure(ends plain);

}  // namespace leat_test
