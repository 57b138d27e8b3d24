// printf into a string, for fault texts. Only the failing path formats.
#pragma once

#include <string>

namespace fovea::model {

[[gnu::format(printf, 1, 2)]] std::string format(const char* pattern, ...);

}  // namespace fovea::model
