package main

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"github.com/eideticker/eideticker/analyze/compare"
	"github.com/eideticker/eideticker/analyze/terminal"
	"github.com/eideticker/eideticker/analyze/wording"
	"github.com/eideticker/eideticker/deploy/api"
	"github.com/eideticker/eideticker/deploy/remote"
	"github.com/eideticker/eideticker/deploy/schedule/bisect"
)

type bisectCmd struct {
	Start  bisectStartCmd  `cmd:"" default:"withargs" help:"Find the build of a change; the same as bisect alone."`
	List   bisectListCmd   `cmd:"" help:"List the bisections of a rig."`
	Show   bisectShowCmd   `cmd:"" help:"Print a bisection."`
	Cancel bisectCancelCmd `cmd:"" help:"End a bisection and its job."`
}

// Help is that of bisect without another word, which is bisect start.
func (bisectCmd) Help() string {
	return `Examples:

  eideticker bisect --feed nightly --good 2026-10-01 --bad 2026-11-01 \
                    --test load
  eideticker bisect --feed builds --browser chromium --good b-1 --bad b-12 \
                    --test load --value load.last_paint
  eideticker bisect list
  eideticker bisect show bisect-20261128-1f2e3d4c
  eideticker bisect cancel bisect-20261128-1f2e3d4c

bisect start --help describes the flags.

The rig compares the good build with the bad one first. Then it compares builds between them in random blocks.
Fresh runs of the build before confirm the first bad build.

Press Ctrl-C to stop following. The bisection goes on.`
}

// runCount is a number of runs, such as 600runs.
type runCount int

// UnmarshalText implements encoding.TextUnmarshaler.
func (r *runCount) UnmarshalText(text []byte) error {
	n, err := strconv.Atoi(strings.TrimSpace(strings.TrimSuffix(string(text), "runs")))
	if err != nil {
		return fmt.Errorf("%.20q must be a number of runs such as 600runs", text)
	}
	*r = runCount(n)
	return nil
}

type bisectStartCmd struct {
	Feed    string   `placeholder:"NAME" required:"" help:"Feed of the rig with the builds."`
	Good    string   `placeholder:"BUILD" required:"" help:"Build without the change."`
	Bad     string   `placeholder:"BUILD" default:"latest" help:"Later build with the change (default: the newest)."`
	Test    string   `placeholder:"NAME" required:"" help:"Test of the rig that shows the change."`
	Value   string   `placeholder:"MEASURE.VALUE" help:"Value (default: the first of the answer)."`
	Device  string   `placeholder:"NAME" default:"local" help:"Device of the rig (default: local)."`
	Browser string   `placeholder:"KIND" help:"Kind of browser (default: that of the feed)."`
	Budget  runCount `placeholder:"600runs" default:"600runs" help:"Runs at most (default: 600runs)."`
	MaxLost fraction `placeholder:"5%" help:"Reject a run that lost a larger share of its frames (default: 5%)."`
	NoWait  bool     `help:"Start it, and print its ID."`
	scheduleRig
}

func (bisectStartCmd) Help() string {
	return `Example:

  eideticker bisect --feed nightly --good 2026-10-01 --bad 2026-11-01 \
                    --test load --budget 600runs

The exit code is 0 if a build was found, and 4 if none was.`
}

func (s bisectStartCmd) Run(e *env) error {
	return s.call(e, "bisect", func(c rigCall) error {
		var b api.Bisect
		if err := c.rig.Call(c.ctx, "bisect.start", s.params(), &b); err != nil {
			return err
		}
		if s.NoWait {
			if s.JSON {
				return printJSON(c.out, b)
			}
			_, err := fmt.Fprintln(c.out, b.ID)
			return err
		}
		return c.follow(&b, s.Rig)
	})
}

func (s bisectStartCmd) params() api.BisectParams {
	p := api.BisectParams{Feed: s.Feed, Good: s.Good, Bad: s.Bad, Test: s.Test, Value: s.Value, Device: s.Device,
		Browser: s.Browser, Budget: int(s.Budget)}
	if s.MaxLost.given {
		p.MaxLost = &s.MaxLost.value
	}
	return p
}

// follow prints progress until a bisection has ended.
func (c rigCall) follow(b *api.Bisect, rig string) error {
	fmt.Fprintf(c.err, "Ctrl-C stops following. See it again: eideticker bisect show %s --rig %s\n", b.ID, rig)
	err := remote.FollowBisection(c.ctx, c.rig, b, func(text string) { fmt.Fprintln(c.err, text) })
	if err != nil && c.ctx.Err() != nil {
		fmt.Fprintf(c.err, "It goes on. End it: eideticker bisect cancel %s --rig %s\n", b.ID, rig)
	}
	if err != nil {
		return err
	}
	if err := c.printBisect(*b); err != nil {
		return err
	}
	if b.State != bisect.FirstBad && b.State != bisect.Several {
		return compare.Inconclusive.Err(b.State)
	}
	return nil
}

// printBisect prints the state of a bisection, and the builds of its changes.
func (c rigCall) printBisect(b api.Bisect) error {
	if c.JSON {
		return printJSON(c.out, b)
	}
	fmt.Fprintf(c.out, "%s: %s\n%s\n", b.ID, b.State, strings.TrimPrefix(b.Text, b.State+": "))
	if b.EndedNS == 0 {
		fmt.Fprintln(c.out, remote.BisectionText(&b))
	} else if b.Reason != "" && !strings.HasSuffix(b.Text, b.Reason) {
		fmt.Fprintln(c.out, b.Reason)
	}
	for _, f := range b.Found {
		fmt.Fprintf(c.out, "\n%s, last good: %s, first bad: %s, p = %.2g\n", f.Shift.Text, f.Good, f.Bad, f.P)
		for _, build := range f.Builds {
			state := ""
			if build.State != "usable" {
				state = " (" + build.State + ")"
			}
			fmt.Fprintf(c.out, "  %s\n", terminal.Clean(build.Name+state+wording.Prefixed(": ", build.Subject)+
				wording.Prefixed("  revision ", build.Revision)+wording.Prefixed(", parent ", build.Parent)))
			if build.URL != "" {
				fmt.Fprintf(c.out, "    %s\n", terminal.Clean(build.URL))
			}
		}
	}
	_, err := fmt.Fprintf(c.out, "\n%d of %d runs\n", b.Runs, b.Budget)
	return err
}

type bisectListCmd struct{ scheduleRig }

func (bisectListCmd) Help() string {
	return `Example:

  eideticker bisect list --rig http://localhost:8430`
}

func (s bisectListCmd) Run(e *env) error {
	return s.call(e, "bisect", func(c rigCall) error {
		return ask(c, "bisect.list", api.Empty{}, func(all api.Bisects) error {
			var rows [][]string
			for _, b := range all.Bisects {
				rows = append(rows, []string{b.ID, cmp.Or(b.Text, b.State)})
			}
			return c.printNarrow("BISECTION", "STATE", rows)
		})
	})
}

type bisectShowCmd struct {
	ID string `arg:"" name:"bisect" help:"ID of the bisection."`
	scheduleRig
	Follow bool `help:"Follow it to its end."`
}

func (bisectShowCmd) Help() string {
	return `Example:

  eideticker bisect show bisect-20261128-1f2e3d4c --follow`
}

func (s bisectShowCmd) Run(e *env) error {
	return s.call(e, "bisect", func(c rigCall) error {
		var b api.Bisect
		if err := c.rig.Call(c.ctx, "bisect.get", api.BisectID{Bisect: s.ID}, &b); err != nil {
			return err
		}
		if s.Follow {
			return c.follow(&b, s.Rig)
		}
		return c.printBisect(b)
	})
}

type bisectCancelCmd struct {
	ID string `arg:"" name:"bisect" help:"ID of the bisection."`
	scheduleRig
}

func (bisectCancelCmd) Help() string {
	return `Example:

  eideticker bisect cancel bisect-20261128-1f2e3d4c

Its runs stay.`
}

func (s bisectCancelCmd) Run(e *env) error {
	return s.call(e, "bisect", func(c rigCall) error {
		return ask(c, "bisect.cancel", api.BisectID{Bisect: s.ID}, c.printBisect)
	})
}
