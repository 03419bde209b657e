#pragma once

// TLS for connections: the library leat-tls.

#include "leat/tls/tls_connect.hpp"
#include "leat/tls/tls_context.hpp"
#include "leat/tls/tls_options.hpp"
#include "leat/tls/tls_session.hpp"
