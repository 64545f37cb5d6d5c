// Datasets whose examples stay in files.
#include "memory/context.h"
#include "nn/dataset_stream.h"
#include "tenure/nn/files.h"

namespace tenure::nn {

Dataset Dataset::from_npy(const std::string& x_path, const std::string& y_path,
                          std::source_location site) {
  const dataset::OwnWork own_work;
  const tenure::detail::CallScope call("from_npy", site);
  Tensors y;
  if (!y_path.empty()) y = io::map_npy(y_path, site);
  return from_tensors(io::map_npy(x_path, site), y, {}, site);
}

}  // namespace tenure::nn
