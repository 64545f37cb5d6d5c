// The fields of a struct, named once:
//
//   TENURE_FIELDS(visit, o, units, activation);
//
// is visit("units", o.units), visit("activation", o.activation); for up to 60 fields.
#pragma once

#define TENURE_FIELDS(visit, o, ...) TENURE_FIELDS_64(TENURE_FIELDS_FIRST(visit, o, __VA_ARGS__))

// A macro is not expanded within itself: the names after the first follow when the line is scanned
// again, and TENURE_FIELDS_64 has it scanned that often.
#define TENURE_FIELDS_FIRST(visit, o, name, ...) \
  visit(#name, (o).name) __VA_OPT__(, TENURE_FIELDS_REST TENURE_FIELDS_LATER(visit, o, __VA_ARGS__))
#define TENURE_FIELDS_REST() TENURE_FIELDS_FIRST
#define TENURE_FIELDS_LATER ()
#define TENURE_FIELDS_64(...) \
  TENURE_FIELDS_16(TENURE_FIELDS_16(TENURE_FIELDS_16(TENURE_FIELDS_16(__VA_ARGS__))))
#define TENURE_FIELDS_16(...) \
  TENURE_FIELDS_4(TENURE_FIELDS_4(TENURE_FIELDS_4(TENURE_FIELDS_4(__VA_ARGS__))))
#define TENURE_FIELDS_4(...) TENURE_FIELDS_1(TENURE_FIELDS_1(TENURE_FIELDS_1(__VA_ARGS__)))
#define TENURE_FIELDS_1(...) __VA_ARGS__
