// How records read in messages: sites, byte counts, labels, and the lines of errors that tell of a
// life.
#pragma once

#include <cstddef>
#include <cstdint>
#include <source_location>
#include <string>
#include <string_view>
#include <vector>

#include "core/raise.h"
#include "memory/label.h"
#include "tenure/story.h"

namespace tenure::detail {

struct Header;

std::string site_text(std::source_location site);  // rnn.cpp:41
std::string bytes_text(std::size_t bytes);         // 4096 bytes, 1.5 MiB
std::string time_text(std::int64_t nanoseconds);   // 12.3 ms
std::string label_text(const Label& label);        // tidy "step"
std::string label_text(std::string_view kind, std::string_view text);
// What a death of this cause says of the label it came from: tidy "step" ended
std::string ended_by(Cause cause, std::string_view kind, std::string_view text);

Line line_of(std::string label, const Label& thing);    // born  rnn.cpp:41  tidy "step"
Line line_of(std::string label, const Header& tensor);  // input 0  rnn.cpp:41  tanh  float32 [4]
Line used_line(std::source_location site, std::string what);  // used  rnn.cpp:52  add, input 1
// Who else holds a tensor's bytes, a line each: saved values, other tensors, or calls in progress.
std::vector<Line> other_holder_lines(Header& tensor);

// A DisposedError about a thing that is no tensor, and so has no header: `what` names it, the story
// has its birth and death.
[[noreturn]] void raise_ended(std::string_view op, std::string_view what, Story story,
                              std::source_location used, std::string_view todo,
                              std::string_view ended = "disposed");

}  // namespace tenure::detail
