#include "nn/layers/quantiles.h"

#include <algorithm>
#include <cmath>

namespace tenure::nn::detail {

void Quantiles::add(std::vector<float> values) {
  std::erase_if(values, [](float value) { return std::isnan(value); });
  std::ranges::sort(values);
  const double share = static_cast<double>(values.size()) * epsilon_;
  const double weight = std::max(share, 1.0);
  const auto step = static_cast<std::size_t>(weight);
  Summary merged = summary_;
  for (auto at = static_cast<std::size_t>(share); at < values.size(); at += step) {
    merged.push_back({values[at], weight});
  }
  std::ranges::stable_sort(merged, {}, &Weighted::value);
  summary_ = compressed(merged, epsilon_);
}

// A value for each part of `epsilon` of the whole weight, between those of the summary.
Quantiles::Summary Quantiles::compressed(const Summary& summary, double epsilon) {
  if (static_cast<double>(summary.size()) * epsilon < 1) return summary;
  std::vector<double> reached;  // the weight up to and with each
  double total = 0;
  for (const Weighted& each : summary) reached.push_back(total += each.weight);
  const auto parts = static_cast<std::size_t>(std::ceil(1 / epsilon));
  Summary fewer;
  double before = 0;
  for (std::size_t part = 0; part < parts; ++part) {
    const double wanted = (epsilon + static_cast<double>(part) * epsilon) * total;
    const auto above = std::ranges::lower_bound(reached, wanted) - reached.begin();
    const auto last = static_cast<std::ptrdiff_t>(summary.size()) - 1;
    const auto right = static_cast<std::size_t>(std::min<std::ptrdiff_t>(above, last));
    Weighted next{summary[right].value, reached[right]};
    if (above > 0 && above <= last) {
      const double low = reached[right - 1], high = reached[right];
      const double way = (wanted - low) / (high - low);
      const double from = summary[right - 1].value;
      next = {from + way * (summary[right].value - from), wanted};
    }
    fewer.push_back({next.value, next.weight - before});
    before = next.weight;
  }
  return fewer;
}

std::vector<double> Quantiles::boundaries(std::int64_t bins) const {
  const Summary parts = compressed(summary_, 1 / static_cast<double>(bins));
  std::vector<double> values;
  for (std::size_t i = 0; i + 1 < parts.size(); ++i) values.push_back(parts[i].value);
  return values;
}

}  // namespace tenure::nn::detail
