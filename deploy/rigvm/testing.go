//go:build linux

package rigvm

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"
)

// Boot starts a machine that lives as long as the test. Where something is missing that a VM needs,
// the test is skipped with a sentence that says what; under CI=true it fails. With -short it is
// skipped too.
func Boot(t testing.TB, cfg Config) *VM {
	t.Helper()
	// Not the test's own context: that ends before the machine is closed, and would cut its power.
	vm, err := bootFor(context.WithoutCancel(t.Context()), t, cfg)
	if err != nil {
		t.Fatal(err)
	}
	return vm
}

// bootFor is Boot for tests that want the error.
func bootFor(ctx context.Context, t testing.TB, cfg Config) (*VM, error) {
	t.Helper()
	Need(t)
	vm, err := start(ctx, cfg)
	var missing *missingError
	if errors.As(err, &missing) && os.Getenv("CI") != "true" {
		t.Skipf("%v: no VM is started", err)
	}
	if err == nil {
		t.Cleanup(func() { _ = vm.Close() })
	}
	return vm, err
}

// Need skips a test, or fails it under CI=true, where programs are missing that a VM needs.
func Need(t testing.TB) {
	t.Helper()
	if testing.Short() {
		t.Skip("a VM takes its time: not with -short")
	}
	_, err := findPrograms()
	var missing *missingError
	switch {
	case err == nil:
	case errors.As(err, &missing) && os.Getenv("CI") != "true":
		t.Skipf("%v: no VM is started", err)
	default:
		t.Fatal(err)
	}
}

// Tests say which tests run in the guest.
type Tests struct {
	Package string   // as the go command takes it; "": the package whose tests run
	Tags    []string // build tags beside rigvm
	Run     string   // pattern of -test.run; "": all that the binary has
	Args    []string // more arguments: "-test.short", or the tests' own flags
	Env     []string // added to PATH, HOME, CI and RIGVM=1
	// of the tests; 0: 20 minutes, since it only ends what hangs and two busy processors
	// emulate the machine. After seven tenths, the processes in the VM are printed. After three
	// quarters, the tests print their goroutines.
	Timeout time.Duration
}

// RunTests compiles a package's tests and runs them in the guest, in a folder of their own. Each is
// a subtest of t, with its log, as it runs. If the guest dies, the running test fails with the
// reason. A table follows at the end.
func RunTests(t *testing.T, vm *VM, tests Tests) {
	t.Helper()
	limit := orDefault(tests.Timeout, defaultTestsTimeout)
	ctx := t.Context()
	if tests.Package == "" {
		tests.Package = "."
	}
	binary, err := testBinary(ctx, t.TempDir(), tests.Package, tests.Tags...)
	if err != nil {
		t.Fatal(err)
	}
	dir := vm.temporary("tests")
	inside := dir + "/guest.test"
	if err := vm.putFile(ctx, binary, inside); err != nil {
		t.Fatal(err)
	}
	hung := time.AfterFunc(limit, func() { // they hang, or their machine does
		vm.end(vm.console.died(fmt.Sprintf("the VM was ended: its tests took longer than %v", limit),
			context.DeadlineExceeded))
	})
	defer hung.Stop()
	looked := make(chan struct{})
	look := time.AfterFunc(limit*7/10, func() {
		defer close(looked)
		fmt.Fprintf(t.Output(), "the tests in the VM still run after %v. %s", limit*7/10, vm.processes(ctx))
	})
	defer func() {
		if !look.Stop() {
			<-looked
		}
	}()
	c := Command{
		Path: inside, Dir: dir, Env: append([]string{"RIGVM=1", "CI=" + os.Getenv("CI")}, tests.Env...),
		Args: append([]string{"-test.v=test2json", "-test.run=" + tests.Run,
			"-test.timeout=" + (limit * 3 / 4).String()}, tests.Args...),
	}
	var r relay
	r.follow(ctx, t, vm, c)
	t.Cleanup(func() {
		_, _ = vm.Run(context.WithoutCancel(ctx), Command{Path: "rm", Args: []string{"-rf", dir}})
	})
	fmt.Fprint(t.Output(), table(r.rows))
}

// lookTime bounds the look at the processes. An agent that does not answer within it hangs too.
const lookTime = time.Minute

// lookAll prints each thread of the programs in the guest, with the kernel's functions in which it
// waits.
const lookAll = `for p in /proc/[0-9]*; do
	c=$(tr '\0' ' ' 2>/dev/null <$p/cmdline)
	[ -n "$c" ] || continue
	echo "process ${p#/proc/}: $c"
	for t in $p/task/*; do
		echo "  thread ${t##*/}: $(grep State $t/status)"
		sed 's/^/    /' $t/stack
	done
done 2>&1`

// processes describes the processes in the guest, for a person to read.
func (vm *VM) processes(ctx context.Context) string {
	ctx, cancel := context.WithTimeout(ctx, lookTime)
	defer cancel()
	r, err := vm.Run(ctx, Command{Path: "sh", Args: []string{"-c", lookAll}})
	if err != nil {
		return fmt.Sprintf("Its processes are not known: %v\n%s", err, r.Stdout)
	}
	return fmt.Sprintf("Its processes:\n%s", r.Stdout)
}

// table lays out what the tests said, one row each.
func table(rows []row) string {
	var b strings.Builder
	width := 0
	for _, r := range rows {
		width = max(width, len(r.name))
	}
	b.WriteString("\n")
	for _, r := range rows {
		fmt.Fprintf(&b, "  %-*s  %-4s  %6.2f s\n", width, r.name, r.result, r.took.Seconds())
	}
	return b.String()
}

// NeedProgram is program for tests: where it is not installed the test is skipped, and fails under
// CI=true.
func NeedProgram(t testing.TB, name, pkg string) map[string]string {
	t.Helper()
	files, err := program(t.Context(), name, pkg)
	var missing *missingError
	if errors.As(err, &missing) && os.Getenv("CI") != "true" {
		t.Skipf("%v: no VM is started", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	return files
}
