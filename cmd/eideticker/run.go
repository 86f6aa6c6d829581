package main

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/eideticker/eideticker/analyze/wording"
	"github.com/eideticker/eideticker/controller/device"
	"github.com/eideticker/eideticker/controller/session"
	"github.com/eideticker/eideticker/controller/suite"
	"github.com/eideticker/eideticker/deploy/api"
)

type runCmd struct {
	suiteFolders
	Test     string         `arg:"" name:"test|url" complete:"files" help:"Name of a test, a test file, or a URL, file or host to load."`
	Device   []string       `short:"d" placeholder:"NAME" help:"Device to run on; several take turns (default: local)."`
	Devices  string         `placeholder:"FILE" complete:"files" help:"File of devices (default: EIDETICKER_DEVICES, else devices.yaml here or in the configuration)."`
	Browser  []string       `short:"b" placeholder:"NAME" help:"Browser to run, such as chromium or firefox; several take turns."`
	Repeat   *int           `short:"n" placeholder:"N" help:"Measured runs per browser and device (default: as in the test, else 1)."`
	WarmUp   *int           `name:"warm-up" placeholder:"N" help:"Unmeasured runs before the measured ones."`
	Cooldown *time.Duration `placeholder:"5s" help:"Pause between runs (default: as in the test)."`
	Retries  *int           `placeholder:"N" help:"Total retries after rejected runs (default: as in the test, else one per measured run)."`
	MaxLost  fraction       `placeholder:"5%" help:"Reject a run that lost a larger share of its measured frames."`
	// UntilFail is for hunting what fails once in a hundred times.
	UntilFail bool   `help:"Repeat until a run fails, and keep that run."`
	Seed      uint64 `placeholder:"N" help:"Seed for the order of turns and the pauses between pings (default: random, printed)."`
	Network   string `placeholder:"PROFILE" help:"Network profile, such as 3g; eideticker netsim link --help lists them (default: as in the test)."`
	Power     string `placeholder:"on|cycle" help:"Switch power on before the first run and off after the last, or cycle it before each (default: unchanged)."`
	Wait      bool   `help:"Wait for a device that is in use (default: fail)."`
	Output    string `short:"o" placeholder:"DIR" complete:"files" help:"New folder of the run or set (default: out/TEST-DATE-TIME)."`
	NoVideo   bool   `help:"Do not make a video."`

	Rig string `placeholder:"URL" help:"Run on the rig at this address, which eideticker serve prints."`
	rigAccess
	Baseline    string `placeholder:"NAME" help:"With --rig: compare with this baseline, run or set of the rig."`
	Reservation string `placeholder:"KEY" help:"Key of the reservation of the rig's devices."`
	Label       string `placeholder:"TEXT" help:"Label by which runs are found."`
	Branch      string `placeholder:"TEXT" help:"Branch of the tested software."`
	Revision    string `placeholder:"TEXT" help:"Revision of the tested software."`

	Threshold        fraction `placeholder:"3%" help:"In a comparison, ignore smaller differences (default: set per measure)."`
	Primary          string   `placeholder:"MEASURE" help:"Value to show first and to compare by, such as fps.framerate."`
	FailOnRegression bool     `help:"In a comparison, exit with 3 if a measure regressed, or with 4 if the result is inconclusive."`
	JSON             bool     `help:"Print one JSON object."`
}

func (runCmd) Help() string {
	return `Examples:

  eideticker run framerate
  eideticker run framerate --browser chromium --browser firefox --repeat 6
  eideticker run my-test.yaml --repeat 10 --warm-up 1 -o runs/nightly
  eideticker run example.org
  eideticker run framerate --until-fail --no-video
  eideticker run framerate --rig https://rig.example.org:8430 --token-file ~/.rig-token --label nightly
  eideticker run framerate --rig https://rig.example.org:8430 --repeat 6 --baseline release --fail-on-regression

Each run starts the browser with a new user data folder, sends the input and records from green to red.
Its folder contains recording, results, report, pictures, video and log. Several runs form a set for compare.

Several browsers or devices take turns in random blocks. A run that lost too many frames is rejected, kept and repeated.
A failed run keeps its recording, and the exit code is 1.

--threshold, --primary and --fail-on-regression need two browsers, two devices or a baseline.`
}

func (c runCmd) Run(e *env) error {
	if c.Rig != "" {
		return c.onRig(e)
	}
	if c.Baseline != "" {
		return usagef("--baseline needs --rig; on this machine use eideticker compare")
	}
	o, err := c.options(e)
	if err != nil {
		return err
	}
	if why := device.SandboxWarning(); why != "" && fromNetwork(o.Test.URL) {
		fmt.Fprintf(e.err, "warning: %s\n", why)
	}
	locks, err := c.lock(e, o.Variants)
	if err != nil {
		return fmt.Errorf("run: %w", orInterrupted(err))
	}
	r := &testRun{env: e, cmd: c, options: o}
	r.options.Ran = r.ran
	if len(o.Variants) > 1 || o.Repeat > 1 || o.UntilFail {
		fmt.Fprintf(e.err, "%s; seed %d\n", r.plan(), o.Seed)
	}
	r.set, err = session.RunSet(e.ctx, r.options)
	for _, v := range o.Variants {
		if p, ok := v.Device.(*session.Powered); ok {
			err = errors.Join(err, p.Close())
		}
	}
	for _, l := range locks {
		err = errors.Join(err, l.Close())
	}
	return errors.Join(r.tell(), orInterrupted(err))
}

// options makes of the command line what a set needs.
func (c runCmd) options(e *env) (o session.SetOptions, err error) {
	t, err := c.test()
	if err != nil {
		return o, err
	}
	on, err := c.variants()
	if err != nil {
		return o, err
	}
	if c.Network != "" {
		if err := checkProfile(c.Network); err != nil {
			return o, err
		}
		// another line for the same page
		t.Network = suite.Network{Profile: c.Network, Protocol: t.Network.Protocol, KeyLog: t.Network.KeyLog}
	}
	if err := session.Check(t, on...); err != nil {
		return o, usageError{err}
	}
	if o, err = session.NewSet(t, on, c.numbers()); err != nil {
		return o, outOfRange(err)
	}
	if err := c.checkPrimary(t); err != nil {
		return o, err
	}
	if c.FailOnRegression && len(o.Variants) != 2 {
		return o, usagef("--fail-on-regression needs two browsers or two devices")
	}
	o.UntilFail, o.NoVideo, o.Program, o.Progress = c.UntilFail, c.NoVideo, program(), e
	o.Labels = session.Labels{Label: c.Label, Branch: c.Branch, Revision: c.Revision}
	if o.Seed = c.Seed; o.Seed == 0 {
		o.Seed = session.NewSeed()
	}
	if o.Dir = c.Output; o.Dir == "" {
		o.Dir = freeFolder(filepath.Join("out", fmt.Sprintf("%s-%s", t.Name, time.Now().Format("20060102-150405"))))
	}
	o.Dir = filepath.Clean(o.Dir)
	o.Labels.Set = filepath.Base(o.Dir)
	if err := refuseExisting(o.Dir, false); err != nil {
		return o, fmt.Errorf("%s exists: choose another folder with -o", o.Dir)
	}
	return o, nil
}

// numbers are those that the command line gives.
func (c runCmd) numbers() session.Numbers {
	n := session.Numbers{Repeat: c.Repeat, WarmUp: c.WarmUp, Retries: c.Retries, Cooldown: c.Cooldown}
	if c.MaxLost.given {
		n.MaxLost = &c.MaxLost.value
	}
	return n
}

// outOfRange tells of a number that cannot be asked for as the command line has it.
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

// checkPrimary refuses a value that is not measured. Without a test it is one of which nothing is
// known here.
func (c runCmd) checkPrimary(t *suite.Test) error {
	if c.Primary == "" {
		return nil
	}
	there := session.Known().Measures
	if t != nil && len(t.Measures) > 0 {
		there = t.Measures
	}
	if err := checkValue(c.Primary, there); err != nil {
		return usagef("--primary %s: %w", c.Primary, err)
	}
	return nil
}

// freeFolder is the name of a folder that is not there, with a number behind it where somebody
// began in the same second.
func freeFolder(name string) string {
	free := name
	for n := 2; exists(free); n++ {
		free = fmt.Sprintf("%s-%d", name, n)
	}
	return free
}

// variants are all browsers on all devices.
func (c runCmd) variants() (all []session.Variant, err error) {
	devices, browsers := c.Device, c.Browser
	if len(devices) == 0 {
		devices = []string{"local"}
	}
	if len(browsers) == 0 {
		browsers = []string{""}
	}
	if len(devices)*len(browsers) > api.MaxVariants {
		return nil, usagef("%d devices times %d browsers: at most %d can take turns", len(devices), len(browsers),
			api.MaxVariants)
	}
	there, err := session.FindDevices(c.Devices)
	if unasked := (*device.CommandError)(nil); errors.As(err, &unasked) {
		return nil, usageError{err}
	}
	if err != nil {
		return nil, err
	}
	for _, name := range devices {
		d, err := there.Find(name)
		if err != nil {
			return nil, usageError{err}
		}
		if c.Power != "" {
			if d, err = session.WithPower(d, session.PowerUse(c.Power)); err != nil {
				return nil, usageError{err}
			}
		}
		for _, b := range browsers {
			v := session.Variant{Device: d, Browser: b}
			if slices.ContainsFunc(all, func(o session.Variant) bool { return o.Name() == v.Name() }) {
				return nil, usagef("%s is given twice; to compare it with itself, make two sets", v.Name())
			}
			all = append(all, v)
		}
	}
	return all, nil
}

// lock takes all devices, in one order whoever asks, so that two who want the same two do not wait
// for each other.
func (c runCmd) lock(e *env, variants []session.Variant) (locks []*session.Lock, err error) {
	var names []string
	for _, v := range variants {
		names = append(names, v.Device.Name())
	}
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		l, err := session.Take(e.ctx, name, false)
		var busy *session.BusyError
		if errors.As(err, &busy) && c.Wait {
			fmt.Fprintf(e.err, "waiting for device %s, which is in use by %s\n", name, busy.Holder())
			l, err = session.Take(e.ctx, name, true)
		}
		if err != nil {
			for _, l := range locks {
				err = errors.Join(err, l.Close())
			}
			return nil, err
		}
		locks = append(locks, l)
	}
	return locks, nil
}

// testRun is a command at work.
type testRun struct {
	*env
	cmd     runCmd
	options session.SetOptions
	set     *session.Set
	at      string // address of the runs on another rig; "": they are here
}

// plan says what will be done.
func (r *testRun) plan() string {
	var names []string
	for _, v := range r.options.Variants {
		names = append(names, v.Name())
	}
	times := plural(r.options.Repeat, "run")
	if r.options.UntilFail {
		times = "runs until one fails"
	}
	text := fmt.Sprintf("%s: %s", r.options.Test.Name, times)
	if len(names) > 1 {
		text += " each of " + strings.Join(names, " and ") + ", in blocks of random order"
	}
	if r.options.WarmUp > 0 {
		text += fmt.Sprintf(", after %s to warm up", plural(r.options.WarmUp, "run"))
	}
	return text
}

// ran tells of a run of several as soon as it has ended.
func (r *testRun) ran(m *session.Made) {
	if r.alone() || r.cmd.JSON {
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
	fmt.Fprintf(r.err, "%s %s: %s\n", r.options.Variants[m.Variant].Name(), m.Dir, clean(text))
}

func (r *testRun) alone() bool {
	o := &r.options
	return len(o.Variants) == 1 && o.Repeat == 1 && !o.UntilFail && o.WarmUp == 0
}
