#include <utility>

#include "core/raise.h"
#include "memory/context.h"
#include "nn/text/siphash.h"
#include "nn/text/vocabulary.h"

namespace tenure::nn {
namespace {

using text::OutputMode;

OutputMode hashing_mode(const HashingOptions& options) {
  return text::output_mode_of(
      "Hashing", options.output_mode,
      {OutputMode::integer, OutputMode::one_hot, OutputMode::multi_hot, OutputMode::count});
}

std::int64_t bin_of(const HashingOptions& options, const std::string& string) {
  if (options.mask_value && string == *options.mask_value) return 0;
  const std::int64_t first = options.mask_value ? 1 : 0;
  const auto bins = static_cast<std::uint64_t>(options.num_bins - first);
  return first + static_cast<std::int64_t>(text::sip_hash(string, options.salt.key()) % bins);
}

Tensor hashed(const HashingOptions& options, const Text& text, std::source_location site) {
  std::vector<std::int64_t> bins;
  bins.reserve(text.strings.size());
  for (const std::string& string : text.strings) bins.push_back(bin_of(options, string));
  return text::encoded(hashing_mode(options), text.shape, std::move(bins), options.num_bins, {},
                       site);
}

}  // namespace

Hashing::Hashing(HashingOptions options, std::source_location site) {
  const tenure::detail::UserLine line(site, "Hashing");
  const std::int64_t least = options.mask_value ? 2 : 1;
  if (options.num_bins < least) {
    raise<ValueError>("Hashing: num_bins must be at least {}: {}", least, options.num_bins);
  }
  hashing_mode(options);
  options_ = std::make_shared<const HashingOptions>(std::move(options));
}

Tensor Hashing::operator()(const Text& text, std::source_location site) const {
  const tenure::detail::UserLine line(site);
  return hashed(*options_, text, site);
}

Tensor Hashing::operator()(const Tensor& numbers, std::source_location site) const {
  const tenure::detail::UserLine line(site);
  Text text{.strings = {}, .shape = numbers.shape()};
  for (const std::int64_t number : text::whole_numbers("Hashing", numbers, site)) {
    text.strings.push_back(std::to_string(number));
  }
  return hashed(*options_, text, site);
}

TextMap Hashing::to_inputs(std::size_t column, std::source_location site) const {
  return text::text_map("Hashing", true, column, [options = *options_, site](const Text& text) {
    return hashed(options, text, site);
  });
}

TextMap Hashing::to_targets(std::size_t column, std::source_location site) const {
  return text::text_map("Hashing", false, column, [options = *options_, site](const Text& text) {
    return hashed(options, text, site);
  });
}

}  // namespace tenure::nn
