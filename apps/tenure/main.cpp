// The `tenure` program: what there is to know about memory and files, from the command line.
#include <fmt/format.h>

#include <cstdlib>
#include <exception>

#include "commands.h"
#include "tenure/error.h"

int main(int argc, char** argv) {
  CLI::App app("Looks into the memory and the files of programs that use Tenure.", "tenure");
  app.require_subcommand(1);
  app.footer("Exit codes: 0 all is well, 1 the answer is no, 2 bad input.");
  int exit_code = 0;
  tenure::app::add_report(app, exit_code);
  tenure::app::add_top(app, exit_code);
  tenure::app::add_leaks(app, exit_code);
  tenure::app::add_diff(app, exit_code);
  tenure::app::add_export(app, exit_code);
  tenure::app::add_doctor(app, exit_code);
  tenure::app::add_plan(app, exit_code);
  tenure::app::add_inspect(app, exit_code);
  unsetenv("TENURE_TRACE");  // it names the recording of another program, not to be written over
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : tenure::app::kBadInput;
  } catch (const tenure::Error& error) {  // the lines behind it are this program's
    fmt::print(stderr, "tenure: {}\n", error.summary());
    return tenure::app::kBadInput;
  } catch (const std::exception& error) {
    fmt::print(stderr, "tenure: {}\n", error.what());
    return tenure::app::kBadInput;
  }
  return exit_code;
}
