#pragma once

/// The version of these headers, 200 for 0.2.0: major * 10000 + minor * 100 + patch.
#define LEAT_VERSION 200

/// The version as text.
#define LEAT_VERSION_STRING "0.2.0"
