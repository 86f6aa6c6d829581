package profile

import (
	"cmp"
	"context"
	"debug/elf"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/eideticker/eideticker/analyze/activity"
	"github.com/eideticker/eideticker/analyze/activity/uftrace"
	"github.com/eideticker/eideticker/capture/timeline"
)

// calls records each call of functions or of imports by uftrace, which starts the program.
type calls struct {
	recorder
	root int
}

const (
	uftraceDir = "uftrace.data"
	// uftrace's library in the program stops recording at this signal, which programs rarely use.
	// The kernel's number of SIGRTMIN is that of the C library minus 2.
	stopName, stopSignal = "SIGRTMIN+5", unix.Signal(34 + 5)
)

// commonText says what common has.
const commonText = "strings, memory, locks, numbers and clocks"

// common are imports that are called so often, and take so little, that they are not recorded.
var common = []string{
	`^(_*(mem|str|wmem|wcs)[a-z]+(_chk)?|bcmp|__ctype_[a-z]+_loc|mbrtowc|wcrtomb)$`, // strings
	`^(malloc|calloc|realloc|reallocarray|free|aligned_alloc|posix_memalign|malloc_usable_size)$`, `^_Z(nw|na|dl|da)`,
	`^pthread_(getspecific|setspecific|self|(mutex|cond)(attr)?_(init|destroy|set[a-z]+)|mutex_(try|un)?lock)$`,
	`^(__tls_get_addr|__errno_location|clock_gettime|gettimeofday|g_main_depth)$`,
	`^(floor|ceil|trunc|l?l?r(ound|int)|nearbyint|fmod|modf|pow|exp[2m1]*|log[12p0]*|sqrt|cbrt|hypot)f?$`,
	`^(a?(sin|cos|tan)h?|atan2|sincos|frexp|ldexp|nextafter)f?$`,
}

func openCalls(o Options, way string) (engine, error) {
	if way == imports && o.Browser == "firefox" {
		return nil, &missingError{way, "Firefox hangs when uftrace records its imports", "use samples"}
	}
	if _, err := exec.LookPath("uftrace"); err != nil {
		return nil, &missingError{way, "uftrace is not installed", "run sudo apt install uftrace"}
	}
	c := &calls{recorder: recorder{o: o}}
	c.info = activity.Info{Name: nativeDir, Engine: "uftrace", Way: way, Target: cmp.Or(o.Browser, "program")}
	return c, nil
}

func (c *calls) Prepare(_ context.Context, cmd *exec.Cmd) error {
	if static(cmd.Path) { // uftrace would end without starting it
		return &missingError{c.info.Way, filepath.Base(cmd.Path) + " is statically linked", "use samples"}
	}
	args := []string{"--force"}
	for _, pattern := range common {
		args = append(args, "-N", pattern)
	}
	c.info.Why = "calls between modules; frequent ones of " + commonText + " are left out"
	if c.info.Way == functions {
		var err error
		if args, c.info.Why, err = instrumented(cmd.Path); err != nil {
			return &missingError{functions, err.Error(), "use samples"}
		}
	}
	raw, err := c.o.rawDir(nativeDir)
	if err != nil {
		return err
	}
	path, err := exec.LookPath("uftrace")
	if err != nil {
		return err
	}
	args = append([]string{"uftrace", "record", "--no-event", "--no-pager",
		"--logfile=" + filepath.Join(raw, "uftrace.log"), "-b", "512k",
		"--signal=" + stopName + "@trace_off", "-d", filepath.Join(raw, uftraceDir)}, args...)
	c.info.Command = args
	cmd.Args = append(append(slices.Clone(args), cmd.Path), cmd.Args[1:]...)
	cmd.Path = path
	return nil
}

// static reports whether a program has no dynamic linker, which would load uftrace's library.
func static(path string) bool {
	f, err := elf.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	return !slices.ContainsFunc(f.Progs, func(p *elf.Prog) bool { return p.Type == elf.PT_INTERP })
}

// instrumented returns uftrace's arguments for a program, and the way in which its calls are seen.
func instrumented(path string) (args []string, why string, err error) {
	f, err := elf.Open(path)
	if err != nil {
		return nil, "", fmt.Errorf("%s is not an ELF program", filepath.Base(path))
	}
	defer f.Close()
	symbols, _ := f.Symbols() // a stripped program has none
	imported, _ := f.ImportedSymbols()
	calls := func(names ...string) bool {
		return slices.ContainsFunc(symbols, func(s elf.Symbol) bool {
			name, _, _ := strings.Cut(s.Name, "@")
			return slices.Contains(names, name)
		}) || slices.ContainsFunc(imported, func(s elf.ImportedSymbol) bool { return slices.Contains(names, s.Name) })
	}
	switch {
	case calls("__cyg_profile_func_enter"): // patching it would crash it
		return nil, "compiled with -finstrument-functions", nil
	case calls("mcount", "_mcount", "__fentry__"):
		return nil, "compiled with -pg", nil
	case f.Section("__patchable_function_entries") != nil:
		return []string{"-P", "."}, "patched at entries that the compiler left", nil
	case len(symbols) > 0:
		why = "patched at the begin of each function; functions that cannot be patched are missing"
		return []string{"-P", "."}, why, nil
	}
	return nil, "", fmt.Errorf("%s has no symbols and is not instrumented", filepath.Base(path))
}

func (c *calls) Started(pid int) {
	c.root = pid
	c.info.BeginNS = int64(timeline.Monotonic().Now())
}

// bound implements bounded.
func (c *calls) bound(why string) {
	if why == "" && size(c.data()) >= c.o.Limit {
		why = fmt.Sprintf("its files reached the limit of %d bytes", c.o.Limit)
	}
	if why == "" || c.info.Cut != "" {
		return
	}
	c.info.Cut, c.info.EndNS = "uftrace was stopped, since "+why, int64(timeline.Monotonic().Now())
	for pid := range descendants(c.root) {
		// A thread with a file has uftrace's library, and so a handler.
		if _, err := os.Stat(filepath.Join(c.data(), strconv.Itoa(pid)+".dat")); err == nil {
			_ = unix.Kill(pid, stopSignal)
		}
	}
}

func (c *calls) data() string { return filepath.Join(c.o.Dir, nativeDir, activity.RawDir, uftraceDir) }

// size returns the bytes of files below a folder.
func size(dir string) (sum int64) {
	_ = filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error { // a missing folder is empty
		if err == nil && d.Type().IsRegular() {
			if info, err := d.Info(); err == nil {
				sum += info.Size()
			}
		}
		return nil
	})
	return sum
}

func (c *calls) Content(bool) {} // Convert drops other calls

func (c *calls) Stop(context.Context) (activity.Info, error) {
	if c.info.Cut == "" {
		c.info.EndNS = int64(timeline.Monotonic().Now())
	}
	return c.info, nil
}

func (c *calls) Convert(_ context.Context, recording string, spans []timeline.Interval) (activity.Info, error) {
	c.info.Recording, c.info.Raw = recording, []string{uftraceDir}
	var counts uftrace.Counts
	info, err := convert(filepath.Join(c.o.Dir, nativeDir), c.info, spans,
		func(to activity.Sink) (_ map[string]int64, err error) {
			counts, err = uftrace.Read(os.DirFS(c.data()), to)
			return counts.Skipped, err
		})
	if err != nil {
		return info, fmt.Errorf("convert %s: %w", c.info.Way, err)
	}
	count(&info, counts)
	return info, info.Write(filepath.Join(c.o.Dir, nativeDir))
}

// pass implements passer.
func (c *calls) pass(to activity.Sink) (activity.Info, error) {
	counts, err := uftrace.Read(os.DirFS(c.data()), to)
	info := c.info
	info.Warnings = slices.Clone(info.Warnings)
	incomplete(&info, counts.Skipped)
	count(&info, counts)
	return info, err
}

// count adds a reader's counts to an info.
func count(info *activity.Info, counts uftrace.Counts) {
	for text, n := range map[string]int64{"%d records are lost.": counts.Lost,
		"%d calls did not return.": counts.Closed, "%d calls have depth 1023; deeper ones are missing.": counts.Deep} {
		if n > 0 {
			info.Warnings = append(info.Warnings, fmt.Sprintf(text, n))
		}
	}
	slices.Sort(info.Warnings)
	info.Lost = max(info.Lost, counts.Lost)
}

// recorder is the common part of engines of native code.
type recorder struct {
	o    Options
	info activity.Info
}

func (r *recorder) warn(format string, args ...any) {
	r.info.Warnings = append(r.info.Warnings, fmt.Sprintf(format, args...))
}

func (r *recorder) way() string { return r.info.Way }

// because adds reasons for which this engine was taken.
func (r *recorder) because(reasons []string) {
	all := append(slices.Clone(reasons), r.info.Why)
	r.info.Why = strings.Join(slices.DeleteFunc(all, func(s string) bool { return s == "" }), "; ")
}

// native is an engine of native code.
type native interface {
	engine
	bounded
	way() string
	because(reasons []string)
}

// firstOf takes the first engine that can record the program.
type firstOf struct {
	native
	others  []native
	reasons []string // why engines before it cannot
}

// openNative opens the engines of native code that options select.
func openNative(ctx context.Context, o Options) (engine, error) {
	switch way := o.native(); way {
	case functions, imports:
		return openCalls(o, way)
	case Samples:
		return openPerf(ctx, o)
	case none:
		return nil, nil
	}
	a := &firstOf{}
	var missing error
	for _, way := range []string{functions, imports, Samples} {
		if i := slices.IndexFunc(o.Skip, func(s string) bool { return strings.HasPrefix(s, way+":") }); i >= 0 {
			a.reasons = append(a.reasons, o.Skip[i])
			continue
		}
		o.Native = way
		e, err := openNative(ctx, o)
		if err != nil {
			missing = err
			a.reasons = append(a.reasons, strings.TrimPrefix(err.Error(), "profile "))
			continue
		}
		a.others = append(a.others, e.(native))
	}
	if len(a.others) == 0 {
		return nil, missing
	}
	return a, nil
}

func (a *firstOf) Prepare(ctx context.Context, cmd *exec.Cmd) error {
	var all error
	for _, e := range a.others {
		err := e.Prepare(ctx, cmd)
		if err == nil {
			e.because(a.reasons)
			a.native = e
			return nil
		}
		all = errors.Join(all, err)
		a.reasons = append(a.reasons, strings.TrimPrefix(err.Error(), "profile "))
	}
	return all
}

// Stop implements engine, also for a program that was not started.
func (a *firstOf) Stop(ctx context.Context) (activity.Info, error) {
	if a.native == nil {
		return activity.Info{}, nil
	}
	return a.native.Stop(ctx)
}

func (a *firstOf) discard() {
	if d, ok := a.native.(interface{ discard() }); ok {
		d.discard()
	}
}
