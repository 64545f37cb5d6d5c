// How records read in messages: sites, byte counts, labels.
#pragma once

#include <cstddef>
#include <source_location>
#include <string>
#include <string_view>

#include "memory/label.h"
#include "tenure/story.h"

namespace tenure::detail {

std::string site_text(std::source_location site);  // rnn.cpp:41
std::string bytes_text(std::size_t bytes);         // 4096 bytes, 1.5 MiB
std::string label_text(const Label& label);        // tidy "step"
std::string label_text(std::string_view kind, std::string_view text);
// What a death of this cause says of the label it came from: tidy "step" ended
std::string ended_by(Cause cause, std::string_view kind, std::string_view text);

// A DisposedError about a thing that is no tensor, and so has no header: `what` names it, the story
// has its birth and death.
[[noreturn]] void raise_ended(std::string_view op, std::string_view what, Story story,
                              std::source_location used, std::string_view todo);

}  // namespace tenure::detail
