// How the things of a run read in tables, findings and exports.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "memory/text.h"
#include "report/run.h"

namespace tenure::report {

std::string_view text_of(const Run& run, std::uint32_t string);  // "" where there is none
std::string site_text(const Run& run, std::uint32_t site);       // loop.cpp:12
std::string site_path(const Run& run, std::uint32_t site);       // src/loop.cpp:12
std::string span_text(const Run& run, std::uint32_t span);       // tidy "step"
// The name that repeated spans have in common: none where it is a number, as of epochs.
std::uint32_t common_name(const Run& run, const Span& span);
using detail::label_text;

std::string bytes_text(std::uint64_t bytes);  // 512 B, 1.5 MiB: for tables, and so of one length
using detail::time_text;                      // 12.3 ms
std::string count_text(std::uint64_t count, std::string_view what);  // 1 tensor, 12 tensors

// What to know of a recording that does not go to the end; "" of one that does.
std::string cut_short_text(const Run& run);

bool is_alive(const TensorLife& tensor, std::int64_t time);
bool is_alive(const StorageLife& storage, std::int64_t time);
Category category_at(const StorageLife& storage, std::int64_t time);

std::string tensor_text(const Run& run, std::uint32_t tensor);  // float32 [4] "h" (#12)
// Title and life in the columns of a lifetime error, each line behind `indent`.
std::string story_text(const Run& run, std::uint32_t tensor, std::string_view indent = "");

}  // namespace tenure::report
