package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"
	"time"

	"github.com/eideticker/eideticker/analyze/stats"
	"github.com/eideticker/eideticker/controller/session"
	"github.com/eideticker/eideticker/controller/suite"
)

const (
	sameComparisons = 40
	// sameRepeat is enough for the test over blocks.
	sameRepeat = stats.FewestBlocks
)

// sameTests are short, and each is of another kind.
func sameTests() []string { return []string{"framerate", "load", "pingpong", "typing", "tearing-dom"} }

// TestSame compares a browser with itself, 40 times over real runs of tests. A verdict other than
// unchanged is a false alarm, of which the level allows 5 %. It takes an hour or more and 3 GB, so
// it runs with EIDETICKER_SOAK only. With EIDETICKER_BUSY too, another program uses a core in every
// other run.
func TestSame(t *testing.T) {
	if os.Getenv("EIDETICKER_SOAK") == "" {
		t.Skip("this takes an hour: make soak")
	}
	dir, repeat := filepath.Join(t.TempDir(), "same"), sameRepeat
	e := &env{ctx: t.Context(), err: t.Output()}
	var options []session.SetOptions
	var beside burner
	defer func() { beside.end(t) }()
	seed := session.NewSeed()
	for _, name := range sameTests() {
		o, err := runCmd{Tests: []string{name}, Repeat: &repeat, Seed: seed, Output: dir, NoVideo: true}.options(e)
		if err != nil {
			t.Fatal(err)
		}
		options = append(options, twice(o))
		if os.Getenv("EIDETICKER_BUSY") != "" {
			options[len(options)-1].Ran = func(*session.Made) { beside.toggle(t) }
		}
	}
	locks, err := session.TakeAll(e.ctx, options[0].Variants, runCmd{Wait: true}.waiting(e))
	if err != nil {
		t.Fatal(err)
	}
	plan := newSamePlan(options, sameComparisons)
	fmt.Fprintf(t.Output(), "%s of %s with itself, %s each; seed %d\n", plural(len(plan.Comparisons), "comparison"),
		plan.who(), plural(plan.Repeat, "run"), plan.Seed)
	err = plan.run(e, options)
	err = errors.Join(err, session.CloseAll(locks))
	result := countSame(plan, plan.judge(context.WithoutCancel(t.Context())))
	if err := errors.Join(err, result.print(t.Output()), result.failure()); err != nil {
		t.Error(err)
	}
}

// twice makes of the runs of a browser those of two sets of the same.
func twice(o session.SetOptions) session.SetOptions {
	a, b := o.Variants[0], o.Variants[0]
	a.Called, b.Called = sameA, sameB
	o.Variants = []session.Variant{a, b}
	o.Retries, o.NoPictures, o.Progress = 2*o.Repeat, true, silent{}
	return o
}

// burner is a program that uses a core of the machine.
type burner struct {
	cmd   *exec.Cmd
	ended chan struct{}
}

// toggle starts the program, or ends it if it is running. The program is killed when the thread
// that started it ends, so it has its own: those of captures end with each run.
func (b *burner) toggle(t *testing.T) {
	t.Helper()
	if b.cmd != nil {
		b.end(t)
		return
	}
	cmd, started, ended := exec.Command("sh", "-c", "while :; do :; done"), make(chan error), make(chan struct{})
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	go func() {
		defer close(ended)
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		started <- err
		if err == nil {
			_ = cmd.Wait() // end looks at its state
		}
	}()
	if err := <-started; err != nil {
		t.Error(err) // not Fatal, since this may be another goroutine than the test's
		return
	}
	b.cmd, b.ended = cmd, ended
}

// end ends the program. One that has ended before was not beside the run.
func (b *burner) end(t *testing.T) {
	t.Helper()
	if b.cmd == nil {
		return
	}
	_ = b.cmd.Process.Signal(syscall.SIGTERM) // it may have ended
	<-b.ended
	if status, ok := b.cmd.ProcessState.Sys().(syscall.WaitStatus); !ok || status.Signal() != syscall.SIGTERM {
		t.Errorf("the program beside the runs ended too early: %v", b.cmd.ProcessState)
	}
	b.cmd = nil
}

// TestBurner: every other run has the program beside it, and none outlives the test.
func TestBurner(t *testing.T) {
	var b burner
	defer func() { b.end(t) }()
	for run := range 4 {
		if b.cmd != nil != (run%2 == 1) {
			t.Errorf("run %d: the program runs: %t", run, b.cmd != nil)
		}
		last := b.cmd
		b.toggle(t)
		if last != nil && !errors.Is(last.Process.Signal(syscall.Signal(0)), os.ErrProcessDone) {
			t.Errorf("run %d: the program still runs", run)
		}
	}
}

// TestBurnerOutlivesThreads: the program stays when the thread ends that toggled it.
func TestBurnerOutlivesThreads(t *testing.T) {
	var b burner
	defer func() { b.end(t) }() // it tells
	toggle := func() int {
		thread := make(chan int)
		go func() {
			runtime.LockOSThread() // not unlocked, so the thread ends with the goroutine
			b.toggle(t)
			thread <- syscall.Gettid()
		}()
		return <-thread
	}
	id := toggle()
	if id == os.Getpid() { // the first thread stays, and runs no goroutine any more
		b.end(t)
		id = toggle()
	}
	task := fmt.Sprintf("/proc/self/task/%d", id)
	for limit := time.Now().Add(2 * time.Minute); exists(task); time.Sleep(time.Millisecond) {
		if time.Now().After(limit) {
			t.Fatalf("%s still runs", task)
		}
	}
}

// silent tells nobody of the phases of hundreds of runs.
type silent struct{}

func (silent) Phase(string, int) (advance func(int), end func()) { return func(int) {}, func() {} }

// The two sets of a comparison, which are folders too.
const sameA, sameB = "a", "b"

// samePlan is what the runs are for. Their results stand in their own folders.
type samePlan struct {
	Device      string
	Browser     string // "": the device's first
	Seed        uint64
	Repeat      int // runs of each set
	Tests       []samePlanTest
	Comparisons []sameComparison // in the order in which they are made

	dir string
}

type samePlanTest struct {
	Name       string
	Primary    []string
	Thresholds map[string]suite.Percent
}

// sameComparison is two sets of runs in a folder.
type sameComparison struct {
	Test string
	Dir  string
}

// newSamePlan deals comparisons to tests in turn, so that an early end leaves something of each.
func newSamePlan(options []session.SetOptions, comparisons int) *samePlan {
	first := options[0]
	p := &samePlan{
		Device: first.Variants[0].Device.Name(), Browser: first.Variants[0].Browser, Seed: first.Seed,
		Repeat: first.Repeat, dir: first.Dir,
	}
	for _, o := range options {
		p.Tests = append(p.Tests, samePlanTest{o.Test.Name, o.Test.Primary, o.Test.Thresholds})
	}
	for i := range comparisons {
		name := p.Tests[i%len(p.Tests)].Name
		p.Comparisons = append(p.Comparisons, sameComparison{name, fmt.Sprintf("%s-%02d", name, i/len(p.Tests)+1)})
	}
	return p
}

// who names what is held against itself.
func (p *samePlan) who() string {
	switch {
	case p.Browser == "":
		return "the first browser of " + p.Device
	case p.Device == "local":
		return p.Browser
	}
	return p.Browser + " on " + p.Device
}

func (p *samePlan) test(name string) *samePlanTest {
	for i := range p.Tests {
		if p.Tests[i].Name == name {
			return &p.Tests[i]
		}
	}
	return nil
}

// run makes all comparisons, one after another. A set that gives up ends it, since the next would
// do the same.
func (p *samePlan) run(e *env, options []session.SetOptions) error {
	began := time.Now()
	for i, c := range p.Comparisons {
		o := options[i%len(options)]
		// no run has the seed of another
		o.Dir, o.Seed = filepath.Join(p.dir, c.Dir), p.Seed+uint64(i)*uint64(4*p.Repeat+1)
		set, err := session.RunSet(e.ctx, o)
		if err != nil {
			return err
		}
		if len(set.Of(0)) == 0 || len(set.Of(1)) == 0 {
			if failed := set.Failed(); len(failed) > 0 {
				return fmt.Errorf("no run of %s counts: %s", c.Dir, failed[0].Record.Reason)
			}
			return fmt.Errorf("no run of %s counts: they lost too many frames", c.Dir)
		}
		left := time.Since(began) / time.Duration(i+1) * time.Duration(len(p.Comparisons)-i-1)
		fmt.Fprintf(e.err, "%s, %d of %d: %s; %s more\n", c.Dir, i+1, len(p.Comparisons), p.judgeOne(e.ctx, c).text(),
			left.Round(time.Second))
	}
	return nil
}
