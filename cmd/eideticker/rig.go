package main

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/eideticker/eideticker/analyze/wording"
	"github.com/eideticker/eideticker/deploy/api"
	"github.com/eideticker/eideticker/deploy/api/client"
	"github.com/eideticker/eideticker/deploy/config"
	"github.com/eideticker/eideticker/deploy/daemon"
	"github.com/eideticker/eideticker/deploy/store/unused"
)

type rigCmd struct {
	Do    string   `arg:"" name:"action" enum:"${rigActions}" help:"Action, see above."`
	Names []string `arg:"" optional:"" name:"name" help:"Job, run, device or baseline; words to search for."`
	Rig   string   `placeholder:"URL" help:"Address of the rig, such as https://rig-3:8430."`
	rigAccess

	Test    string `placeholder:"NAME" help:"runs: of this test."`
	Device  string `placeholder:"NAME" help:"runs: on this device."`
	Browser string `placeholder:"NAME" help:"runs: in this browser."`
	Label   string `placeholder:"TEXT" help:"runs: with this label."`
	State   string `placeholder:"STATE" help:"runs: in this state, such as ok or failed."`
	Verdict string `placeholder:"WORD" help:"runs: with this verdict, such as regressed."`
	Limit   int    `placeholder:"N" default:"20" help:"runs, jobs: at most N (default: 20)."`

	For    time.Duration `placeholder:"1h" help:"reserve: for this time (default: 1h)."`
	Note   string        `placeholder:"TEXT" help:"reserve: note for others."`
	Key    string        `placeholder:"KEY" help:"reserve, release: key of the reservation."`
	Reason string        `placeholder:"TEXT" help:"quarantine: reason for others."`
	Age    time.Duration `placeholder:"720h" help:"clean: remove files that were not used for this time."`
	Quota  byteSize      `placeholder:"SIZE" help:"clean: keep at most so much."`
	Yes    bool          `help:"clean: remove the listed files."`
	Lift   bool          `help:"quarantine: let jobs begin again."`
	Remove bool          `help:"baseline: remove the name. The run stays."`
	JSON   bool          `help:"Print the API's result as one JSON object."`
}

func (rigCmd) Help() string {
	return `Examples:

  eideticker rig status --rig http://localhost:8430
  eideticker rig runs --rig https://rig-3:8430 --test framerate --state failed
  eideticker rig cancel k7f2 --rig https://rig-3:8430
  eideticker rig reserve pixel-7 --for 2h --rig https://rig-3:8430
  eideticker rig baseline release k7f2 --rig https://rig-3:8430

  status                 print the state of the rig, its devices and its store
  devices                list devices and their users
  runs [WORD]...         list runs, newest first
  jobs                   list waiting, running and ended jobs
  cancel JOB             end a job
  delete RUN             delete a run, or a set with all its runs
  pin, unpin RUN         keep a run when room is made, or no longer
  reserve DEVICE         keep a device for jobs with the printed key
  release DEVICE         end a reservation
  quarantine DEVICE      let no job begin on a device
  baseline               list baselines
  baseline NAME RUN      give a run or a set a name to compare with
  clean                  list unused archives and caches; --yes removes them

The beginning of an ID or its last word is enough if it is unique, such as k7f2.
clean without --rig is for this machine.
delete takes no beginning. It refuses runs that are pinned, in use, or a baseline.
The reference of the API lists the roles.`
}

// rigAction is an action of rig.
type rigAction struct {
	name     string
	least    int    // names that it takes
	most     int    // -1: any number
	of       string // kind of its last name
	flags    string // that only some actions have
	carryOut func(rigCall) error
}

// rigActions returns all actions.
func rigActions() []rigAction {
	return []rigAction{
		{"status", 0, 0, "", "", func(c rigCall) error { return ask(c, "rig.status", api.Empty{}, c.printStatus) }},
		{"devices", 0, 0, "", "", func(c rigCall) error { return ask(c, "device.list", api.Empty{}, c.printDevices) }},
		{"runs", 0, -1, "", "--test --device --browser --label --state --verdict --limit", rigCall.runs},
		{"jobs", 0, 0, "", "--limit", func(c rigCall) error { return ask(c, "job.list", api.Empty{}, c.printJobs) }},
		{"cancel", 1, 1, "job", "", func(c rigCall) error {
			return ask(c, "run.cancel", api.JobID{Job: c.last()}, c.printDone)
		}},
		{"delete", 1, 1, "run", "", func(c rigCall) error {
			return ask(c, "run.delete", api.RunID{Run: c.last()}, c.printDone)
		}},
		{"pin", 1, 1, "run", "", rigCall.pin},
		{"unpin", 1, 1, "run", "", rigCall.pin},
		{"reserve", 1, 1, "device", "--for --note --key", rigCall.reserve},
		{"release", 1, 1, "device", "--key", rigCall.reserve},
		{"quarantine", 1, 1, "device", "--reason --lift", func(c rigCall) error {
			return ask(c, "device.quarantine", api.QuarantineParams{Device: c.last(), Reason: c.Reason, Lift: c.Lift},
				func(d api.Device) error { return c.printDevices(api.DeviceList{Devices: []api.Device{d}}) })
		}},
		{"baseline", 0, 2, "run", "--remove", rigCall.baseline},
		{"clean", 0, 0, "", "--age --quota --yes", rigCall.clean},
	}
}

// rigActionNames joins the names of all actions.
func rigActionNames() string {
	var names []string
	for _, a := range rigActions() {
		names = append(names, a.name)
	}
	return strings.Join(names, ",")
}

// rigCall is an action on a rig.
type rigCall struct {
	*env
	rigCmd
	rig *client.Client
}

func (c rigCmd) Run(e *env) error {
	all := rigActions()
	action := all[slices.IndexFunc(all, func(a rigAction) bool { return a.name == c.Do })]
	if err := c.check(action); err != nil {
		return err
	}
	if c.Do == "clean" && c.Rig == "" {
		return action.carryOut(rigCall{env: e, rigCmd: c})
	}
	rig, err := c.open(c.Rig)
	if err != nil {
		return err
	}
	defer rig.Close()
	call := rigCall{e, c, rig}
	if err = call.complete(action.of); err == nil {
		err = action.carryOut(call)
	}
	if err != nil {
		return fmt.Errorf("rig %s: %w", c.Do, orInterrupted(call.advised(err, action.of)))
	}
	return nil
}

// check rejects names and flags that an action does not take.
func (c rigCmd) check(a rigAction) error {
	switch n := len(c.Names); {
	case c.Age < 0:
		return usagef("--age must be positive")
	case c.Rig == "" && c.Do != "clean":
		return usagef("rig %s needs --rig with the address of a rig", c.Do)
	case n < a.least:
		return usagef("rig %s needs a %s", c.Do, a.of)
	case a.most >= 0 && n > a.most:
		return usagef("rig %s takes %s", c.Do, []string{"no name", "one name", "a name and a run"}[a.most])
	case c.Limit < 1 || c.Limit > api.MaxLimit:
		return usagef("--limit must be 1 to %d", api.MaxLimit)
	}
	for flag, given := range map[string]bool{"--test": c.Test != "", "--device": c.Device != "",
		"--browser": c.Browser != "", "--label": c.Label != "", "--state": c.State != "", "--verdict": c.Verdict != "",
		"--limit": c.Limit != 20, "--for": c.For != 0, "--note": c.Note != "", "--key": c.Key != "",
		"--reason": c.Reason != "", "--lift": c.Lift, "--age": c.Age != 0,
		"--quota": c.Quota != 0, "--yes": c.Yes, "--remove": c.Remove} {
		if given && !slices.Contains(strings.Fields(a.flags), flag) {
			return usagef("%s cannot be used with rig %s", flag, c.Do)
		}
	}
	return nil
}

// last returns the last name.
func (c rigCall) last() string { return c.Names[len(c.Names)-1] }

// complete replaces a short ID by the whole one. The rig rejects an unknown name.
func (c rigCall) complete(kind string) error {
	if len(c.Names) == 0 || kind == "device" || c.Do == "baseline" && len(c.Names) == 1 {
		return nil
	}
	names, err := c.rig.Names(c.ctx, kind, c.last())
	found := client.Complete(c.last(), names)
	if c.Do == "delete" { // run-10 may be gone, and begins run-100
		found = slices.DeleteFunc(found, func(id string) bool { return strings.HasPrefix(id, c.last()) })
	}
	if len(found) > 1 {
		return usagef("%s is ambiguous: %s", c.last(), wording.Few(found))
	}
	if len(found) == 1 {
		c.Names[len(c.Names)-1] = found[0]
	}
	return err
}

// advised adds to an error the nearest name, or the flags to check.
func (c rigCall) advised(err error, kind string) error {
	var status *client.StatusError
	var told *api.Error
	var unreached *net.OpError
	switch {
	case errors.As(err, &status) && status.Status == http.StatusUnauthorized:
		return fmt.Errorf("%w; give it by --token-file or EIDETICKER_TOKEN", err)
	case errors.As(err, &unreached):
		return fmt.Errorf("%w; check that eideticker serve runs there", err)
	case errors.As(err, &told) && told.Code == api.NotFound && len(c.Names) > 0:
		names, _ := c.rig.Names(c.ctx, kind, "") // the hint is optional
		return usageError{fmt.Errorf("%w%s", err, wording.Near(c.last(), names))}
	}
	return askedWrongly(err)
}

// ask calls a method and prints its result.
func ask[R any](c rigCall, method string, params any, show func(R) error) error {
	var result R
	if err := c.rig.Call(c.ctx, method, params, &result); err != nil {
		return err
	}
	if c.JSON {
		return printJSON(c.out, result)
	}
	return show(result)
}

func (c rigCall) runs() error {
	return ask(c, "run.list", api.ListParams{Text: strings.Join(c.Names, " "), Test: c.Test, Device: c.Device,
		Browser: c.Browser, Label: c.Label, State: c.State, Verdict: c.Verdict, Limit: c.Limit}, c.printRuns)
}

func (c rigCall) pin() error {
	return ask(c, "run.pin", api.PinParams{Run: c.last(), Pinned: c.Do == "pin"}, c.printDone)
}

func (c rigCall) reserve() error {
	return ask(c, "device.reserve", api.ReserveParams{Device: c.last(), ForNS: int64(cmp.Or(c.For, time.Hour)),
		Note: c.Note, Key: c.Key, Release: c.Do == "release"}, c.printReserved)
}

func (c rigCall) baseline() error {
	p := api.Baseline{}
	switch n := len(c.Names); {
	case n == 0 && !c.Remove:
		return ask(c, "baseline.list", api.Empty{}, c.printBaselines)
	case n == 1 && c.Remove:
		p.Name = c.Names[0]
	case n == 2 && !c.Remove:
		p = api.Baseline{Name: c.Names[0], ID: c.Names[1]}
	default:
		return usagef("give a name and a run, or a name and --remove")
	}
	return ask(c, "baseline.set", p, c.printBaselines)
}

// clean lists or removes unused files of this machine, or of a rig.
func (c rigCall) clean() error {
	p := api.CleanParams{AgeNS: int64(c.Age), MaxBytes: int64(c.Quota), Remove: c.Yes}
	if c.rig != nil {
		return ask(c, "store.clean", p, c.printCleaned)
	}
	done, err := daemon.Clean(config.Default().DataDir, unused.Age, p)
	if err != nil {
		return fmt.Errorf("rig clean: %w", err)
	}
	if c.JSON {
		return printJSON(c.out, done)
	}
	return c.printCleaned(done)
}
