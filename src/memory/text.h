// How records read in messages: sites, byte counts, labels.
#pragma once

#include <cstddef>
#include <source_location>
#include <string>

#include "memory/label.h"

namespace tenure::detail {

std::string site_text(std::source_location site);  // rnn.cpp:41
std::string bytes_text(std::size_t bytes);         // 4096 bytes, 1.5 MiB
std::string label_text(const Label& label);        // tidy "step"

}  // namespace tenure::detail
