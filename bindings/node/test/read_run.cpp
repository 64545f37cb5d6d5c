// Prints a recording as JSON: what test/trace_test.js checks.
#include <cstdio>
#include <nlohmann/json.hpp>

#include "report/findings.h"
#include "report/run.h"
#include "tenure/error.h"

namespace {

using nlohmann::json;
using tenure::report::kNone;
using tenure::report::Run;

json site_of(const Run& run, std::uint32_t site) {
  if (site == kNone) return nullptr;
  const tenure::report::Site& at = run.sites[site];
  return {
      {"file", run.strings[at.file]}, {"line", at.line}, {"function", run.strings[at.function]}};
}

json index_of(std::uint32_t index) { return index == kNone ? json(nullptr) : json(index); }

json tensors_of(const Run& run) {
  json list = json::array();
  for (const tenure::report::TensorLife& life : run.tensors) {
    list.push_back({{"id", life.id},
                    {"name", run.strings[life.name]},
                    {"op", run.strings[life.op]},
                    {"dtype", run.strings[life.dtype]},
                    {"shape", run.strings[life.shape]},
                    {"owner", run.strings[life.owner]},
                    {"site", site_of(run, life.birth_site)},
                    {"storage", index_of(life.storage)},
                    {"scope", index_of(life.scope)},
                    {"nbytes", life.nbytes},
                    {"alive", life.died == tenure::report::kNever},
                    {"cause", run.strings[life.cause]},
                    {"deathSite", site_of(run, life.death_site)},
                    {"deathBy", run.strings[life.death_by]},
                    {"isView", life.is_view},
                    {"before", life.before}});
  }
  return list;
}

json storages_of(const Run& run) {
  json list = json::array();
  for (const tenure::report::StorageLife& life : run.storages) {
    json categories = json::array();
    for (const auto& change : life.categories) {
      categories.push_back(static_cast<int>(change.category));
    }
    list.push_back({{"nbytes", life.nbytes},
                    {"freed", life.freed != tenure::report::kNever},
                    {"categories", categories}});
  }
  return list;
}

json spans_of(const Run& run) {
  json list = json::array();
  for (const tenure::report::Span& span : run.spans) {
    list.push_back({{"kind", run.strings[span.kind]},
                    {"name", run.strings[span.name]},
                    {"site", site_of(run, span.site)},
                    {"parent", index_of(span.parent)},
                    {"ended", span.end != tenure::report::kNever}});
  }
  return list;
}

json rest_of(const Run& run) {
  json values = json::array(), ops = json::array(), raised = json::array(),
       findings = json::array();
  for (const auto& value : run.values) {
    values.push_back(
        {{"name", run.strings[value.name]}, {"step", value.step}, {"value", value.value}});
  }
  for (const auto& op : run.ops) {
    ops.push_back(
        {{"op", run.strings[op.op]}, {"bytes", op.bytes}, {"site", site_of(run, op.site)}});
  }
  for (const auto& error : run.raised) {
    raised.push_back({{"text", run.strings[error.text]},
                      {"site", site_of(run, error.site)},
                      {"tensor", error.tensor}});
  }
  for (const tenure::report::Finding& finding : tenure::report::findings(run)) {
    findings.push_back({{"title", finding.title}, {"remedy", finding.remedy}});
  }
  return {{"values", values}, {"ops", ops}, {"raised", raised}, {"findings", findings}};
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fputs("usage: read_run FILE\n", stderr);
    return 2;
  }
  try {
    const Run run = tenure::report::read_run(argv[1]);
    json all = rest_of(run);
    all["program"] = run.program;
    all["version"] = run.version;
    all["started"] = run.started;
    all["cutShort"] = run.cut_short;
    all["tensors"] = tensors_of(run);
    all["storages"] = storages_of(run);
    all["spans"] = spans_of(run);
    std::puts(all.dump().c_str());
  } catch (const tenure::Error& error) {
    std::fputs(error.what(), stderr);
    return 1;
  }
}
