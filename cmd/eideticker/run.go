package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/eideticker/eideticker/analyze/budget"
	"github.com/eideticker/eideticker/analyze/compare"
	"github.com/eideticker/eideticker/analyze/terminal"
	"github.com/eideticker/eideticker/analyze/wording"
	"github.com/eideticker/eideticker/controller/device"
	"github.com/eideticker/eideticker/controller/session"
	"github.com/eideticker/eideticker/controller/suite"
	"github.com/eideticker/eideticker/controller/verdict"
	"github.com/eideticker/eideticker/deploy/api"
)

type runCmd struct {
	suiteFolders
	Tests    []string       `arg:"" name:"test|url" optional:"" complete:"@tests files" help:"Tests, files or URLs."`
	Variant  []string       `placeholder:"NAME=CHANGE" sep:"none" help:"Variant of the test; at least two take turns."`
	Device   []string       `short:"d" placeholder:"NAME" complete:"@devices" help:"Devices in turns (default: local)."`
	Site     []string       `placeholder:"DIR" sep:"none" help:"Folder of a built web site; several take turns."`
	Devices  string         `placeholder:"FILE" help:"File of devices (default: EIDETICKER_DEVICES, devices.yaml)."`
	Browser  []string       `short:"b" placeholder:"NAME" help:"Browser, such as firefox; several take turns."`
	Repeat   *int           `short:"n" placeholder:"N" help:"Measured runs per variant (default: see above)."`
	WarmUp   *int           `name:"warm-up" placeholder:"N" help:"Unmeasured runs before the measured ones."`
	Cooldown *time.Duration `placeholder:"5s" help:"Pause between runs (default: as in the test)."`
	Retries  *int           `placeholder:"N" help:"Total retries after rejected runs (default: as in the test)."`
	MaxLost  fraction       `placeholder:"5%" help:"Reject a run that lost a larger share of its measured frames."`
	// UntilSure decides as soon as the runs allow it.
	UntilSure bool `help:"Add blocks until all primary values are decided, at most --repeat (default: 50)."`
	// UntilFail finds rare failures.
	UntilFail bool   `help:"Repeat until a run fails, and keep that run."`
	Seed      uint64 `placeholder:"N" help:"Seed of the order of turns (default: random, printed)."`
	Network   string `placeholder:"PROFILE" help:"Network profile, such as 3g (default: as in the test)."`
	End       string `placeholder:"20s" help:"End: still 3s, event NAME or 20s (default: as in the test)."`
	Fresh     bool   `help:"With a URL and --network: record the site again."`
	Vitals    bool   `help:"Read web vitals from the page and compare them with the pixels; adds load."`
	// Script is a list with commas, or given several times.
	Script  policiesFlag `placeholder:"POLICIES" help:"Instrument the page's scripts: calls, errors, …; adds load."`
	Break   bool         `help:"With --script loops: leave a loop that is warned of, once, by an exception."`
	Adapt   string       `placeholder:"loads|live" help:"Measure the calls of slow functions only."`
	Share   string       `placeholder:"PERCENT" help:"Measure each function in this part of the runs, such as 20%."`
	Profile profileFlag  `placeholder:"PARTS" help:"Record samples, functions or imports, js, sockets; adds load."`
	profileLimits
	// ProfiledOnly leaves out the plain runs of a profiled set.
	ProfiledOnly bool `help:"Play no plain runs between profiled ones; the cost of the profile is unknown."`
	Why          bool `help:"Record scripts, samples and sockets, and print the activity before late frames."`
	// WhyChanged leaves the runs that decide without load.
	WhyChanged bool `help:"If a primary value changed, play more runs with --why and compare the functions."`
	// AB names functions of the page.
	AB []string `name:"ab" placeholder:"NAME=FILE" sep:"none" help:"Replace a function in half of the runs."`
	// ObserverEffect is the number of runs of each side.
	ObserverEffect *int `placeholder:"N" help:"Compare N plain runs with N instrumented ones, in turns."`
	gestureFlags
	Power string `placeholder:"on|cycle" help:"Switch power on for all runs, or cycle it before each."`
	Wait  bool   `help:"Wait for a device that is in use (default: fail)."`
	// WaitForQuiet is about other programs.
	WaitForQuiet *time.Duration `placeholder:"2m" help:"Wait for a quiet machine before each run, at most so long."`
	Output       string         `short:"o" placeholder:"DIR" help:"New folder (default: out/TEST-DATE-TIME)."`
	NoVideo      bool           `help:"Do not make a video."`
	filmstrip

	Rig string `placeholder:"URL" help:"Run on the rig at this address, which eideticker serve prints."`
	rigAccess
	hubFlags
	Baseline    string `placeholder:"NAME" help:"With --rig: compare with this baseline, run or set of the rig."`
	Reservation string `placeholder:"KEY" help:"Key of the reservation of the rig's devices."`
	Label       string `placeholder:"TEXT" help:"Label by which runs are found."`
	Branch      string `placeholder:"TEXT" help:"Branch of the tested software."`
	Revision    string `placeholder:"TEXT" help:"Revision of the tested software."`

	judging
	All  bool `help:"Print all values, not only the primary ones."`
	JSON bool `help:"Print one JSON object."`

	FailIf []string `placeholder:"CONDITION" sep:"none" help:"Exit with 3 if true, such as 'fps.framerate < 58'."`
}

func (runCmd) Help() string {
	return `Examples:

  eideticker run framerate
  eideticker run example.org
  eideticker run example.org --scroll
  eideticker run example.org --network 3g
  eideticker run framerate --why

  eideticker run before.html after.html
  eideticker run before.html after.html --until-sure --why-changed
  eideticker run framerate --browser chromium --browser firefox --until-sure
  eideticker run example.org --click '#menu' -b chromium -b firefox -n 8
  eideticker run example.org --variant a=network:cable --variant b=network:3g
  eideticker run checkout.yaml --site old/dist --site new/dist

  eideticker run my-test.yaml --repeat 10 --warm-up 1 -o runs/nightly
  eideticker run framerate --fail-if 'fps.longest_freeze > 100ms'
  eideticker run framerate --until-fail --no-video
  eideticker run example.org --vitals
  eideticker run example.org --network 3g --script calls,errors
  eideticker run example.org --profile samples,js,sockets

  eideticker run framerate --rig https://rig-3:8430 --token-file ~/.rig-token
  eideticker run framerate --rig https://rig-3:8430 --repeat 6 \
      --baseline release --fail-on-regression
  eideticker run framerate --hub https://hub:8430 --needs os=linux --repeat 3

Each run starts the browser with a new user data folder, sends the input and records from green to red.
Its folder contains recording, results, report, pictures, video and log. Several runs form a set for compare.

Exit codes: 1 if a run failed; its recording is kept. --fail-if and budgets of the test exit with 3 if the bounds of a
value lie beyond the limit. They exit with 4 if only its median does, or if it was not measured. --threshold, --primary
and --fail-on-regression need something to compare with, or a baseline.

Compare: several tests, variants, browsers or devices take turns in random blocks, and each is compared with the first.
Several tests or variants have 8 blocks (default: as in the first test).
--until-sure judges after at most 5 fixed numbers of blocks, which share the level.
--variant NAME=CHANGE changes the test: NAME=TEST, or test:, archive:, site:, network:, browser: or device: and a
value. Join changes with commas. browser: also takes the file of a browser.
--site DIR serves the folder to tests with site: in place of page or url. Without a test, it plays / of the folder.

Rejected and noisy runs: a run that lost too many frames is rejected, kept and repeated. Without --retries, each
measured run has one retry. A run is noisy if other programs used 10 % of the CPU time or more. It counts, and is
marked. After the limit of --wait-for-quiet, the run begins all the same.

Network: eideticker netsim link --help lists the profiles. With --network, a URL is recorded once and then replayed;
--fresh records it again. Requests without a recorded answer are listed. A server at localhost is loaded live through
the link.

Gestures: --hover, --click, --type and --scroll send input of the system to a page, in this order. The last one is
measured. A SELECTOR is CSS. Its element is found before the runs, in a browser that is then closed. X,Y are pixels or
percent of the page's window. Use them for a page that moves between loads.

Late frames: --why prints what ran in late frames. It records a profile, and the scripts' calls where pages can be
instrumented. --why-changed leaves the runs that decide plain. If a primary value changed, each of two variants has 8
more runs with --why. They name the function that changed, and are in the folder why of the set.

Scripts: --script calls,errors inserts measuring code into scripts on their way to the browser. It names the functions
that ran while a frame was late. It needs a built-in page, a file, a server at localhost, or --network. Its records use
no bandwidth of the page.
--adapt live or --adapt loads measures slow functions only, and --share 20% a part of all functions in each run.
--observer-effect 8 shows what the inserted code changes on the screen: it compares plain with instrumented runs.
--ab 'slow (app.js:12)=faster.js' runs the function expression of a file instead of a function, in half of the runs.
The runs take turns. The screen, the function's times and its exceptions are compared.

Profile: --profile records what the browser's threads did, on the clock of the frames. Several runs take turns with
plain ones, and the difference is printed as the profile's cost.

--profile and --vitals need a browser on a virtual display of this machine. For --vitals, a script in the page reads its
claims after the run.

Power: --power on switches a device off after the last run.

Rig: with --rig, -o gets the runs from the rig, and without it they stay there.`
}

func (c runCmd) Run(e *env) error {
	switch {
	case c.Hub != "" && c.Rig != "":
		return usagef("--hub and --rig cannot be used together")
	case c.Hub != "":
		return c.onHub(e)
	case len(c.Needs) > 0 || c.Replace || c.Job != "" || c.Class != "":
		return usagef("--needs, --replace, --job and --class need --hub")
	case c.Rig != "":
		return c.onRig(e)
	}
	if i := slices.IndexFunc(c.Browser, func(b string) bool { return strings.Contains(b, "@") }); i >= 0 {
		return usagef("browser %s: builds of feeds run on a rig; add --rig URL", c.Browser[i])
	}
	if c.Baseline != "" {
		return usagef("--baseline needs --rig; on this machine use eideticker compare")
	}
	r, err := c.measured(e)
	if r == nil {
		return err
	}
	return errors.Join(r.tell(), err)
}

// measured runs the tests and writes the pages of a set. Nil: it did not begin.
func (c runCmd) measured(e *env) (*testRun, error) {
	o, err := c.options(e)
	if err != nil {
		return nil, err
	}
	c.JudgeUnlike = c.JudgeUnlike || c.ObserverEffect != nil // the comparison is asked for
	for i := range o.Variants {
		if warnSandbox(e, o.TestOf(i).URL) {
			break
		}
	}
	locks, err := session.TakeAll(e.ctx, o.Variants, c.waiting(e))
	if err != nil {
		return nil, fmt.Errorf("run: %w", orInterrupted(err))
	}
	release, err := c.replayed(e, &o)
	defer release()
	if err != nil {
		return nil, errors.Join(err, session.CloseAll(locks))
	}
	r := &testRun{env: e, cmd: c, options: o}
	r.options.Ran = r.ran
	if len(o.Variants) > 1 || o.Repeat > 1 || o.UntilFail {
		fmt.Fprintf(e.err, "%s; seed %d\n", verdict.PlanText(&o), o.Seed)
		if text := verdict.NeededText(&o, c.JudgeAll); text != "" {
			fmt.Fprintln(e.err, text)
		}
	}
	r.options.Decided = r.decided
	r.set, err = session.RunSet(e.ctx, r.options)
	if c.WhyChanged && err == nil {
		if failed := r.explainChange(); e.ctx.Err() != nil {
			err = failed
		} else if failed != nil { // the plain runs decide
			fmt.Fprintf(e.err, "the change is not explained: %v\n", failed)
		}
	}
	for _, v := range o.Variants {
		if p, ok := v.Device.(*session.Powered); ok {
			err = errors.Join(err, p.Close())
		}
	}
	return r, orInterrupted(errors.Join(err, session.CloseAll(locks), r.writePages()))
}

// options returns the options of the set.
func (c runCmd) options(e *env) (o session.SetOptions, err error) {
	subjects, err := c.subjects()
	if err != nil {
		return o, err
	}
	if c.Why {
		c.recordWhy(e, subjects)
	}
	on, err := c.variants(subjects)
	if err != nil {
		return o, err
	}
	t, numbers := subjects[0].Test, c.numbers()
	several := len(subjects) > 1 && t.Repeat == 0 && !c.UntilFail
	if usual := c.usualBlocks(max(1, len(on)-1)); numbers.Repeat == nil && (c.UntilSure || several) {
		numbers.Repeat = &usual
	}
	if o, err = session.NewSet(t, on, numbers); err != nil {
		return o, outOfRange(err)
	}
	o.UntilFail, o.ObserverEffect = c.UntilFail, c.ObserverEffect != nil
	if !c.ProfiledOnly && !o.ObserverEffect {
		if err := o.Alternate(numbers, api.MaxVariants); err != nil {
			return o, usagef("--profile: %w; or add --profiled-only", err)
		}
	}
	if err := c.check(e, &o); err != nil {
		return o, err
	}
	if err := c.checkPrimary(t); err != nil {
		return o, err
	}
	if _, err := c.failIf(); err != nil {
		return o, err
	}
	if (c.FailOnRegression || c.Markdown != "") && len(o.Compared()) < 2 {
		return o, usagef("--fail-on-regression and --markdown need two tests, variants, browsers or devices")
	}
	if err := c.checkWhyChanged(e, &o); err != nil {
		return o, err
	}
	looks, err := c.looks(&o)
	if err != nil {
		return o, err
	}
	o.Looks = looks
	o.NoVideo, o.Program, o.Progress = c.NoVideo, program(), e
	o.FilmstripStep = time.Duration(c.FilmstripStep)
	o.Labels = session.Labels{Label: c.Label, Branch: c.Branch, Revision: c.Revision}
	if o.Seed = c.Seed; o.Seed == 0 {
		o.Seed = session.NewSeed()
	}
	if o.Dir = c.Output; o.Dir == "" {
		name := t.Name
		if len(subjects) > 1 && subjects[1].Test.Name != name {
			name += "-and-" + subjects[1].Test.Name
		}
		o.Dir = session.FreeFolder(filepath.Join("out", name+time.Now().Format("-20060102-150405")))
	}
	o.Dir = filepath.Clean(o.Dir)
	o.Labels.Set = filepath.Base(o.Dir)
	if err := refuseExisting(o.Dir, false); err != nil {
		return o, fmt.Errorf("%s exists: choose another folder with -o", o.Dir)
	}
	return o, nil
}

// numbers returns the numbers of the command line.
func (c runCmd) numbers() session.Numbers {
	if c.ObserverEffect != nil {
		c.Repeat = c.ObserverEffect
	}
	n := session.Numbers{Repeat: c.Repeat, WarmUp: c.WarmUp, Retries: c.Retries, Cooldown: c.Cooldown,
		WaitForQuiet: c.WaitForQuiet}
	if c.MaxLost.given {
		n.MaxLost = &c.MaxLost.value
	}
	return n
}

// outOfRange rewrites the error of a number that is out of range.
func outOfRange(err error) error {
	var out *session.RangeError
	if !errors.As(err, &out) {
		return err
	}
	return usagef("%s", out.In("--"+out.Name, func(v any) string {
		if part, is := v.(float64); is {
			return wording.Number(100*part) + "%"
		}
		return fmt.Sprint(v)
	}))
}

// checkPrimary rejects a value that the test does not measure.
func (c runCmd) checkPrimary(t *suite.Test) error {
	if err := c.fewPrimary(); err != nil {
		return err
	}
	for _, name := range c.Primary {
		if err := t.CheckValue(name, session.Known()); err != nil {
			return usagef("--primary: %w", err)
		}
	}
	return nil
}

// failIf parses the conditions of the command line.
func (c runCmd) failIf() (all []budget.Budget, err error) {
	for _, text := range c.FailIf {
		b, err := budget.Parse(text)
		if err != nil {
			return nil, usagef("--fail-if: %w", err)
		}
		all = append(all, b)
	}
	return all, nil
}

// onNetwork gives a test the network, the end, the vitals and the policies of the command line.
func (c runCmd) onNetwork(t *suite.Test) error {
	if c.End != "" {
		if err := t.SetEnd(c.End); err != nil {
			return usagef("--end: %w", err)
		}
	}
	t.Vitals = t.Vitals || c.Vitals
	if len(c.Script) > 0 {
		t.Script.Policies = c.Script
	}
	if err := c.replacing(&t.Script); err != nil {
		return err
	}
	t.Script.Break = t.Script.Break || c.Break
	if c.Adapt != "" {
		t.Script.Adapt = c.Adapt
	}
	if c.Share != "" {
		share, err := suite.ParsePercent(c.Share)
		if err != nil {
			return usagef("--share: %w", err)
		}
		t.Script.Share = &share
	}
	if (c.Adapt != "" || c.Share != "") && !t.Script.Given() {
		return usagef("--adapt and --share need policies for scripts; add --script calls")
	}
	if len(c.Script)+len(c.AB) > 0 || c.Break || c.Adapt != "" || c.Share != "" {
		if err := t.Script.Check(session.Known()); err != nil {
			return usagef("--script: %w", err)
		}
	}
	if c.Profile.text != "" {
		t.Profile = c.Profile.profile
	}
	if (c.Strict || c.TraceLimit > 0) && !t.Profile.Given() && !c.Why {
		return usagef("--strict and --trace-limit need a profile; add --profile samples")
	}
	t.Profile.Strict = t.Profile.Strict || c.Strict
	t.Profile.Limit = cmp.Or(suite.Bytes(c.TraceLimit), t.Profile.Limit)
	if c.Network == "" {
		return nil
	}
	return setProfile(t, c.Network)
}

func setProfile(t *suite.Test, profile string) error {
	if err := checkProfile(profile); err != nil {
		return err
	}
	t.Network = t.Network.On(profile)
	return nil
}

// devices returns the known devices.
func (c runCmd) devices() (*session.Devices, error) {
	there, err := session.FindDevices(c.Devices)
	if unasked := (*device.CommandError)(nil); errors.As(err, &unasked) {
		return nil, usageError{err}
	}
	return there, err
}

// device returns a device, with its power if the user asks for that.
func (c runCmd) device(there *session.Devices, name string) (session.Device, error) {
	d, err := there.Find(name)
	if err == nil && c.Power != "" {
		d, err = session.WithPower(d, session.PowerUse(c.Power))
	}
	if err != nil {
		return nil, usageError{err}
	}
	return d, nil
}

// waiting returns the report of a wait for a device; nil: a device in use is an error.
func (c runCmd) waiting(e *env) func(string) {
	if !c.Wait {
		return nil
	}
	return func(text string) { fmt.Fprintln(e.err, text) }
}

// testRun is a running command.
type testRun struct {
	*env
	cmd     runCmd
	options session.SetOptions
	set     *session.Set
	pages   []string // files of the set
	at      string   // address of the runs on another rig; "": they are here
}

// judged returns the set, to be judged.
func (r *testRun) judged() verdict.Set {
	return verdict.Set{Options: &r.options, Made: r.set, Interrupted: r.ctx.Err() != nil}
}

// load reads the accepted runs of each variant, also after Ctrl-C.
func (r *testRun) load() ([]*compare.Set, error) {
	return r.judged().Load(context.WithoutCancel(r.ctx))
}

// comparisons compares each variant with the first.
func (r *testRun) comparisons(sets []*compare.Set) ([]*compare.Comparison, error) {
	all, err := r.judged().Comparisons(sets, r.cmd.judging.options())
	return all, wrongPrimary(err)
}

// ran prints one run of several when it has ended.
func (r *testRun) ran(m *session.Made) {
	if r.options.Alone() || r.cmd.JSON {
		return
	}
	text := string(m.Record.State)
	if m.Record.Reason != "" {
		text += ": " + m.Record.Reason
	} else if m.Record.WarmUp {
		text = "warm-up"
	} else if v, ok := r.shown(m); ok {
		text = v
	}
	if noise := m.Record.Noise(); noise != "" {
		text += "; noisy: " + noise
	}
	fmt.Fprintf(r.err, "%s %s: %s\n", r.options.Variants[m.Variant].Name(), m.Dir, terminal.Clean(text))
}
