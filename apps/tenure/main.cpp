// The `tenure` program: what there is to know about memory and files, from the command line.
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdlib>
#include <exception>
#include <memory>

#include "build_facts.h"
#include "commands.h"
#include "tenure/error.h"

namespace tenure::app {
namespace {

constexpr const char* kRecording = "written by TENURE_TRACE or tenure::Recording";

template <class O>
struct Command {
  CLI::App* line;
  std::shared_ptr<O> options;
  CLI::App* operator->() const { return line; }
};

class CommandLine {
 public:
  CommandLine() {
    app_.require_subcommand(1);
    app_.set_version_flag("-V,--version", version_text,
                          "print the version, and what it was built with");
    app_.footer("Exit codes: 0 all is well, 1 the answer is no, 2 bad input.");
    add_new();
    add_report();
    add_top();
    add_leaks();
    add_diff();
    add_export();
    add_doctor();
    add_plan();
    add_inspect();
  }

  int run(int argc, char** argv) {
    try {
      app_.parse(argc, argv);
    } catch (const CLI::ParseError& error) {
      return app_.exit(error) == 0 ? 0 : kBadInput;
    } catch (const Error& error) {  // the lines behind it are this program's
      fmt::print(stderr, "tenure: {}\n", error.summary());
      return kBadInput;
    } catch (const std::exception& error) {
      fmt::print(stderr, "tenure: {}\n", error.what());
      return kBadInput;
    }
    return exit_code_;
  }

 private:
  // What it does runs when the line is parsed.
  template <class O>
  Command<O> add(const char* name, const char* what, int (*run_command)(const O& options)) {
    Command<O> command{app_.add_subcommand(name, what), std::make_shared<O>()};
    command->callback(
        [this, run_command, options = command.options] { exit_code_ = run_command(*options); });
    return command;
  }

  void add_diff() {
    const auto command = add("diff",
                             "Compare two recorded runs, line by line: what the second holds "
                             "that the first did not.",
                             run_diff);
    command->add_option("first", command.options->first, "recording to compare with")->required();
    command->add_option("second", command.options->second, "recording in question")->required();
    command->add_option("-n,--rows", command.options->rows, "of each table")
        ->check(CLI::Range(1, 100000))
        ->capture_default_str();
    command->footer(
        "Lines are matched by file and number: compare runs of one source, with other input or\n"
        "settings, or of sources whose lines have not moved.\n"
        "Example: tenure diff monday.tenure tuesday.tenure\n"
        "Exit codes: 0 the second holds no more, 1 it holds more at the end or at its peak,\n"
        "2 no recording.");
  }

  void add_doctor() {
    const auto command =
        add("doctor", "Tell what Tenure runs on here, with which settings, and whether it works.",
            run_doctor);
    for (char** at = environ; *at != nullptr; ++at) {
      command.options->environment.emplace_back(*at);
    }
    command->footer(
        "Put its output into a bug report.\n"
        "Example: TENURE_MEMORY_BUDGET=512MiB tenure doctor\n"
        "Exit codes: 0 all is well, 1 something is wrong.");
  }

  void add_export() {
    const auto command = add(
        "export", "Write a recorded run as a Chrome trace: spans, operations, live bytes, errors.",
        run_export);
    command->add_option("recording", command.options->file, kRecording)->required();
    command
        ->add_option("-o,--output", command.options->output,
                     "JSON file to write; - for standard output")
        ->required();
    command->footer(
        "Open the file at ui.perfetto.dev (it stays in your browser) or in chrome://tracing.\n"
        "Example: tenure export run.tenure -o trace.json\n"
        "Exit codes: 0 written, 2 no recording, or the file cannot be written.");
  }

  void add_inspect() {
    const auto command = add("inspect",
                             "List the tensors of a safetensors, .npy or .npz file or "
                             "of a model.json, and the layers of a "
                             "model, and check them.",
                             run_inspect);
    command->add_option("file", command.options->file, "safetensors, .npy, .npz or model.json")
        ->required();
    command->footer(
        "Every byte is read: a broken file is named and the exit code is 1. Of a recording it "
        "tells\n"
        "the program, the time, the peak, and whether it was cut short.\n"
        "Example: tenure inspect weights.safetensors");
  }

  void add_leaks() {
    const auto command = add(
        "leaks", "Say what is wrong with a recorded run: which line, how many bytes, what to do.",
        run_leaks);
    command->add_option("recording", command.options->file, kRecording)->required();
    command->add_option("--stories", command.options->stories, "of so many tensors per finding")
        ->capture_default_str();
    command->add_flag("--json", command.options->json, "for programs");
    command->add_flag(
        "--strict", command.options->strict,
        "fail as well when the recording was cut short: what came later is not known");
    command->footer(
        "growth    what a line makes stays, and there is more with every step\n"
        "outlived  its tidy or step ended, and the process never freed it\n"
        "pinned    a small view alone holds a large storage, for long\n"
        "misused   an error about a tensor's life was raised\n\n"
        "Example: TENURE_TRACE=run.tenure ./train && tenure leaks --strict run.tenure\n"
        "Exit codes: 0 no findings, 1 findings, or with --strict a recording that was cut short,\n"
        "2 no recording.");
  }

  void add_new() {
    const auto command = add("new",
                             "Make a project that builds: a training program, and a test that "
                             "checks that it leaks nothing.",
                             run_new);
    command
        ->add_option("folder", command.options->folder,
                     "where to make it; the project is called as its last part")
        ->required();
    command->footer(
        "A folder that is there already must be empty.\n"
        "Example: tenure new my_app\n"
        "Exit codes: 0 made, 2 the name is no good, or the folder cannot be made or is not empty.");
  }

  void add_plan() {
    const auto command = add(
        "plan", "Place buffers with known lifetimes in one arena, as low as they go.", run_plan);
    command
        ->add_option("problem", command.options->problem,
                     "CSV file: id,lower,upper,size; a buffer lives on [lower, upper)")
        ->required();
    command
        ->add_option("--capacity", command.options->capacity,
                     "bytes to stay within; without it, the lowest plan found in the time")
        ->check(CLI::NonNegativeNumber);
    command->add_option("--alignment", command.options->alignment, "of every offset")
        ->check(CLI::PositiveNumber)
        ->capture_default_str();
    command->add_option("--seconds", command.options->seconds, "for the exact search")
        ->check(CLI::Range(0.0, 1e6))
        ->capture_default_str();
    command->add_option("-o,--output", command.options->output,
                        "write the problem with an offset column to this file");
    command->footer("Example: tenure plan problem.csv --capacity 1048576 -o solution.csv");
  }

  void add_report() {
    const auto command =
        add("report", "Write a recorded run as one HTML page that opens without a network.",
            run_report);
    command->add_option("recording", command.options->recording, "file that a recording wrote")
        ->required();
    command->add_option("-o,--output", command.options->output,
                        "the page; without it, beside the recording, ending in .html");
    command->footer(
        "Example: TENURE_TRACE=run.tenure ./app && tenure report run.tenure -o run.html");
  }

  void add_top() {
    const auto command = add(
        "top", "Show a recorded run: live bytes over time, who held them, what the time went to.",
        run_top);
    command->add_option("recording", command.options->file, kRecording)->required();
    command->add_option("--by", command.options->by, "what to put holders together by")
        ->transform(CLI::CheckedTransformer(kBy))
        ->option_text("site|op|scope|thread|category [site]");
    command->add_option("-n,--rows", command.options->rows, "of each table")
        ->check(CLI::Range(1, 100000))
        ->capture_default_str();
    command->add_option("--at", command.options->at, "moment to show the holders of")
        ->check(CLI::Validator(check_moment, ""))
        ->option_text("peak|end|TIME [peak]");
    command->add_flag("--follow", command.options->follow,
                      "show a recording that is being written, until it is closed or Ctrl-C; one "
                      "that is closed already, once");
    command->footer(
        "Example: rm -f run.tenure; TENURE_TRACE=run.tenure ./train & tenure top run.tenure "
        "--follow\n"
        "         tenure top run.tenure --by category --at 1.5s\n"
        "Exit codes: 0 shown, 2 no recording. For a check that fails, see tenure leaks.");
  }

  CLI::App app_{"Looks into the memory and the files of programs that use Tenure.", "tenure"};
  int exit_code_ = 0;
};

}  // namespace
}  // namespace tenure::app

int main(int argc, char** argv) {
  tenure::app::CommandLine line;  // keeps the environment as it is now, for the doctor
  unsetenv("TENURE_TRACE");       // it names the recording of another program
  return line.run(argc, argv);
}
