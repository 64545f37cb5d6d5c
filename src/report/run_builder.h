// Puts the events of a recording, in order of time, together to a Run.
//
// What is told of something unknown (its beginning lies before the recording, or in a chunk that a
// crash took) is left out, except that memory freed without having been allocated must have been
// there from the start.
#pragma once

#include <array>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "report/format.h"

namespace tenure::report {

class RunBuilder {
 public:
  explicit RunBuilder(Run& run) : run_(run) {}

  struct Moment {
    std::int64_t time = 0;
    std::uint32_t thread = 0;
  };
  void tell(Moment at, const Told<events::Birth>& birth);
  void tell(Moment at, const Told<events::Death>& death);
  void tell(Moment at, const Told<events::Name>& name);
  void tell(Moment at, const Told<events::Claim>& claim);
  void tell(Moment at, const Told<events::Move>& move);
  void tell(Moment at, const Told<events::Allocate>& allocation);
  void tell(Moment at, const Told<events::Free>& free);
  void tell(Moment at, const Told<events::SpanBegin>& span);
  void tell(Moment at, const Told<events::SpanEnd>& span);
  void tell(Moment at, const Told<events::OpEnd>& op);
  void tell(Moment at, const Told<events::Value>& value);
  void tell(Moment at, const Told<events::PoolSize>& pool);
  void tell(Moment at, const Told<events::Budget>& budget);
  void tell(Moment at, const Told<events::RaisedText>& raised);
  void tell(Moment at, const Told<events::Live>& live);
  void tell(Moment at, const Told<events::End>& end);
  void tell(Moment at, const Told<events::Raised>& raised);
  void tell(Moment at, const Told<events::Language>& language);
  void tell(Moment at, const Told<events::LastUse>& use);

  // Sorts everything, and gives what lived before without being told.
  void finish();

 private:
  struct Holder {
    std::uint32_t tensor = kNone;
    Category category = Category::other;
  };
  struct StorageState {
    std::array<std::uint32_t, kCategories> holders{};  // alive, by what they want the bytes for
    std::uint32_t last_dead = kNone;                   // a tensor, when no holder is alive
    bool was_held = false;
  };
  struct Thread {
    std::vector<std::uint32_t> spans;        // open, the innermost last
    std::vector<std::uint32_t> unexplained;  // storages that no op and no holder has claimed
  };

  std::uint32_t text(const char* literal);  // as a string of the run
  std::uint32_t added(std::string_view part);
  static bool held(const StorageState& state);
  std::uint32_t storage_of(std::uint64_t number) const;
  std::uint32_t innermost(std::uint32_t thread) const;
  std::uint32_t add_storage(std::int64_t born, std::uint64_t nbytes, std::uint64_t capacity);
  void hold(std::uint32_t tensor, std::uint32_t storage, Category category, std::int64_t time);
  void let_go(std::uint32_t tensor, Category category, std::int64_t time);
  void count_under(std::uint32_t storage, std::int64_t time);
  void sort_storages();
  void sort_spans();

  Run& run_;
  std::unordered_map<std::uint64_t, Holder> holders_;
  std::unordered_map<std::uint64_t, std::uint32_t> storages_, spans_;
  std::vector<StorageState> states_;  // of each storage
  std::unordered_map<std::uint32_t, Thread> threads_;
  std::unordered_map<const char*, std::uint32_t> texts_;
  std::uint64_t known_bytes_ = 0;    // alive
  std::uint64_t missing_bytes_ = 0;  // lived from the start, never told of
};

}  // namespace tenure::report
