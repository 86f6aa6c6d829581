// Command eideticker records what a screen shows, losslessly, and reads every frame back.
//
// main parses the command line and turns errors into exit codes. Each subcommand has its own file.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"reflect"
	"slices"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/eideticker/eideticker/analyze"
	"github.com/eideticker/eideticker/analyze/compare"
	"github.com/eideticker/eideticker/analyze/quality"
	"github.com/eideticker/eideticker/analyze/terminal"
	"github.com/eideticker/eideticker/analyze/wording"
)

// Exit codes, documented in the README; scripts rely on them.
const (
	exitOK      = 0
	exitFailure = 1
	exitUsage   = 2

	exitRegression   = 3 // of --fail-on-regression, or a broken budget
	exitInconclusive = 4
)

// cli is the command line: kong reads commands and flags from the fields' tags.
type cli struct {
	Run     runCmd     `cmd:"" topic:"Answer a question" shows:"URL" help:"Load a page or run tests, and measure them."`
	Compare compareCmd `cmd:"" shows:"A B" help:"Compare two sets of runs and print a verdict per measure."`
	Explain explainCmd `cmd:"" shows:"VALUE" help:"Explain a value: meaning, unit, direction, formula."`
	View    viewCmd    `cmd:"" shows:"RUN" help:"Show a run in the browser."`
	Report  reportCmd  `cmd:"" shows:"RUN" help:"Write the HTML report of a run: video, graphs, values."`
	Suite   suiteCmd   `cmd:"" shows:"list|check" help:"List, show and check test files."`
	Demo    demoCmd    `cmd:"" help:"Record a real browser on a virtual display and measure it."`

	Record  recordCmd  `cmd:"" topic:"Record and analyse by hand" help:"Record a source into a file."`
	Sources sourcesCmd `cmd:"" help:"List displays, scenes and file kinds that can be recorded."`
	Analyze analyzeCmd `cmd:"" shows:"FILE" help:"Measure a recording: framerate, load, tearing and more."`
	Profile profileCmd `cmd:"" shows:"RUN" help:"Show what threads did before frames, and export their functions."`
	Export  exportCmd  `cmd:"" shows:"FILE" help:"Write frames, pictures, video or numbers from a recording."`
	Import  importCmd  `cmd:"" shows:"VIDEO" help:"Make a recording from a video file or a folder of pictures."`
	Info    infoCmd    `cmd:"" shows:"FILE" help:"Print format, frames, losses and size of a recording."`
	Verify  verifyCmd  `cmd:"" shows:"FILE" help:"Check every byte of a recording and decode every frame."`
	Repair  repairCmd  `cmd:"" shows:"FILE" help:"Close a recording that a crash left open, in place."`
	Pack    packCmd    `cmd:"" shows:"FILE" help:"Make a recording smaller, without loss."`

	Attach attachCmd `cmd:"" shows:"RUN TRACE" help:"Join a trace of another tool to a finished run."`

	Serve    serveCmd    `cmd:"" topic:"A rig for others" help:"Serve this machine as a rig, with API and web page."`
	Rig      rigCmd      `cmd:"" shows:"ACTION" help:"List runs, jobs and devices of a rig, and manage them."`
	Fleet    fleetCmd    `cmd:"" help:"Make a fleet of rigs with one queue, and manage it."`
	Bisect   bisectCmd   `cmd:"" help:"Find the build at which a value changed."`
	Schedule scheduleCmd `cmd:"" help:"Check, list, start and pause runs of new builds and at times."`
	Publish  publishCmd  `cmd:"" help:"Write a public site of trends: static pages, charts and films."`
	Push     pushCmd     `cmd:"" shows:"RUN" help:"Send a run to a rig."`
	Pull     pullCmd     `cmd:"" shows:"RUN" help:"Get a run from a rig."`

	Netsim netsimCmd `cmd:"" topic:"Test network" help:"Simulate links; serve, record and replay sites."`

	Trace  traceCmd  `cmd:"" topic:"JavaScript" shows:"-- NODE" help:"Record every function call of a Node program."`
	Script scriptCmd `cmd:"" help:"Insert measuring code into JavaScript, and check it."`

	Doctor     doctorCmd     `cmd:"" topic:"This machine" help:"Check whether this machine is fit to record."`
	Certify    certifyCmd    `cmd:"" shows:"SOURCE" help:"Report how a capture path changes numbered pictures."`
	Completion completionCmd `cmd:"" shows:"SHELL" help:"Print a shell's completion script, or install man pages."`
	Version    versionCmd    `cmd:"" help:"Print the version of the program."`
	Bench      removedBench  `cmd:"" hidden:"" passthrough:"" help:"Removed."`
}

const about = "Record and measure what a screen shows: every frame exactly, every loss with its cause."

// env is the environment of a command.
type env struct {
	ctx      context.Context // ends with the first Ctrl-C
	in       io.Reader
	out, err io.Writer
	// terminal says that err is one: progress is a bar there and a line per phase elsewhere.
	terminal bool
	parser   *kong.Kong // knows this command only, but for completion
}

// usageError is a mistake in the command line that the parser cannot detect.
type usageError struct{ error }

func (u usageError) Unwrap() error { return u.error }

func usagef(format string, args ...any) error { return usageError{fmt.Errorf(format, args...)} }

func main() {
	if err := keepRights(); err != nil {
		os.Exit(exitCode(os.Stderr, err))
	}
	ctx, stop := interruptible()
	code := run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// run carries out one command line and returns its exit code.
func run(ctx context.Context, args []string, in io.Reader, out, errOut io.Writer) int {
	exited := -1
	args = spelledOut(args)
	parser, err := newParser(out, errOut, func(code int) { exited = code }, args...)
	if err != nil { // a mistake in the tags above
		fmt.Fprintf(errOut, "eideticker: %v\n", err)
		return exitFailure
	}
	parsed, err := parser.Parse(args)
	if exited >= 0 { // --help
		return exited
	}
	if err != nil {
		return exitCode(errOut, usageError{plainly(err)})
	}
	e := &env{ctx: ctx, in: in, out: terminal.NewWriter(out), err: terminal.Legible(errOut),
		terminal: terminal.IsTerminal(errOut), parser: parser}
	return exitCode(errOut, parsed.Run(e))
}

// plainly rewrites the parser's errors about values of flags.
func plainly(err error) error {
	flag, _, missing := strings.Cut(err.Error(), `: expected `)
	switch {
	case missing && strings.Contains(err.Error(), ` but got "EOL"`):
		return fmt.Errorf("%s has no value", flag)
	case missing && strings.Contains(err.Error(), "(short flag)") && strings.HasPrefix(flag, "--frames"):
		return fmt.Errorf("%s: must be A:B with A below B; frames count from 0", flag)
	}
	return err
}

// spelledOut accepts the habits of other programs: no arguments, --version and help.
func spelledOut(args []string) []string {
	switch {
	case len(args) == 0:
		return []string{"--help"}
	case args[0] == "--version":
		return append([]string{"version"}, args[1:]...)
	case args[0] == "help":
		return append(slices.Clone(args[1:]), "--help")
	}
	return args
}

// newParser returns the parser of command lines. If the first of args is a command, the parser
// knows that command only: the model of all commands takes a seventh of the program's start.
func newParser(out, errOut io.Writer, exit func(int), args ...string) (*kong.Kong, error) {
	return kong.New(grammar(args),
		kong.Name("eideticker"),
		kong.Description(about),
		kong.Vars{"measures": strings.Join(append(analyze.Names(), quality.Name), " "), "rigActions": rigActionNames()},
		kong.Writers(out, errOut),
		kong.Exit(exit),
		kong.Help(printHelp),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true, WrapUpperBound: 100}),
	)
}

// grammar returns the command that the first of args names. It returns all commands where args
// name none, and for completion.
func grammar(args []string) any {
	all := reflect.TypeFor[cli]()
	for i := range all.NumField() {
		if f := all.Field(i); len(args) > 0 && args[0] == strings.ToLower(f.Name) && f.Name != "Completion" {
			return reflect.New(reflect.StructOf([]reflect.StructField{f})).Interface()
		}
	}
	return new(cli)
}

// exitCode prints the error as one sentence and returns the exit code.
func exitCode(errOut io.Writer, err error) int {
	if err == nil {
		return exitOK
	}
	var child childError
	if errors.As(err, &child) {
		return child.code
	}
	said := terminal.NewWriter(errOut)
	_ = terminal.InStyle(said, terminal.BoldRed, "eideticker:") // the error is the result
	fmt.Fprintf(said, " %s\n", wording.Sentence(err))
	var usage usageError
	var verdict compare.VerdictError
	switch {
	case errors.Is(err, errInterrupted):
		return exitInterrupted
	case errors.As(err, &usage):
		fmt.Fprintln(errOut, "Try eideticker --help, or --help after a command.")
		return exitUsage
	case errors.As(err, &verdict) && verdict.Outcome == compare.Regressed:
		return exitRegression
	case errors.As(err, &verdict):
		return exitInconclusive
	}
	return exitFailure
}
