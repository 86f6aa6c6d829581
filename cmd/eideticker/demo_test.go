package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/eideticker/eideticker/analyze"
	"github.com/eideticker/eideticker/analyze/compare"
	"github.com/eideticker/eideticker/analyze/result"
	"github.com/eideticker/eideticker/analyze/runfolder"
	"github.com/eideticker/eideticker/controller/demo"
	"github.com/eideticker/eideticker/controller/session"
	"github.com/eideticker/eideticker/controller/suite"
	"github.com/eideticker/eideticker/deploy/api"
	"github.com/eideticker/eideticker/deploy/api/client"
	"github.com/eideticker/eideticker/netsim/link"
)

// demoOf is a demo whose runs need no browser: each records a scene, and ends as end makes it.
func demoOf(t *testing.T, ctx context.Context, cmd demoCmd, out, errOut io.Writer, end func(*session.Made)) *demoRun {
	t.Helper()
	t.Setenv(session.LockVariable, filepath.Join(t.TempDir(), "locks")) // somebody may be at work on this machine
	return &demoRun{env: &env{ctx: ctx, out: out, err: errOut}, cmd: cmd, options: demo.Options{
		TryLink: func() error { return errors.ErrUnsupported },
		Compare: func(context.Context, string) (*demo.Comparison, error) {
			return &demo.Comparison{Outcome: compare.Regressed}, nil
		},
		RunSet: func(ctx context.Context, o session.SetOptions) (*session.Set, error) {
			if err := os.Mkdir(o.Dir, 0o755); err != nil {
				return nil, err
			}
			if code := run(ctx, []string{"record", "-s", "synth:page?size=64x48&frames=12", "-o",
				filepath.Join(o.Dir, runfolder.RecordingFile)}, nil, io.Discard, errOut); code != exitOK {
				return nil, fmt.Errorf("record: exit code %d", code)
			}
			m := &session.Made{Dir: ".", Found: &runfolder.Found{}, Record: &session.Record{
				Schema: session.Schema, Version: session.Version, Test: o.Test.Name, Device: "local",
				State:         session.Passed,
				Labels:        o.Labels,
				StartedWallNS: time.Now().UnixNano(), Frames: 12, Checks: 1,
			}}
			m.Found.Results.Windows = []result.Window{
				{Start: 2, End: 8, Checks: []result.Check{
					{What: "unique frames", Unit: "frames", Measured: result.Span{Value: 7, Low: 7, High: 7},
						Drawn: result.Span{Value: 7, Low: 6, High: 8}, Agrees: true}}}}
			end(m)
			return &session.Set{Dir: o.Dir, Single: true, Made: []*session.Made{m}}, m.Record.Write(o.Dir)
		}}}
}

// A number that is not as it was drawn makes the demo fail, and so does whatever keeps it from
// showing what it claims.
//
// Fault: A number of the demo differs, a run fails, or a recording is unreadable
func TestDemoVerdict(t *testing.T) {
	check := func(m *session.Made) *result.Check { return &m.Found.Results.Windows[0].Checks[0] }
	for _, tc := range []struct {
		name, want, shown string // want: of the error, "" is none
		end               func(*session.Made)
	}{
		{"as drawn", "", "", func(*session.Made) {}},
		{"wrong", "values differ from the drawn content: load: unique frames; ", "DIFFERS", func(m *session.Made) {
			check(m).Agrees, m.Record.ChecksFailed = false, []string{"unique frames"}
		}},
		{"not checked", "", "not checked", func(m *session.Made) {
			check(m).Agrees, check(m).Unchecked = false, true
			m.Record.ChecksNotMade = []string{"unique frames"}
		}},
		{"failed", "load failed: it rains", "failed: it rains", func(m *session.Made) {
			m.Record.State, m.Record.Reason = session.Failed, "it rains"
		}},
		{"rejected", "load does not count: too much is lost", "rejected: too much is lost", func(m *session.Made) {
			m.Record.State, m.Record.Reason = session.Rejected, "too much is lost"
		}},
		{"untold", "unknown drawn content in load", "", func(m *session.Made) {
			m.Record.Checks, m.Found.Results.Windows = 0, nil
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var out, errOut bytes.Buffer
			dir := t.TempDir()
			d := demoOf(t, t.Context(), demoCmd{Tests: []string{"framerate", "load"}, Output: dir}, &out, &errOut,
				func(m *session.Made) {
					if m.Record.Test == "load" {
						tc.end(m)
					}
				})
			err := d.run()
			if (err == nil) != (tc.want == "") || err != nil && !strings.Contains(err.Error(), tc.want) {
				t.Errorf("%v, want %q\n%s", err, tc.want, &errOut)
			}
			if !strings.Contains(out.String(), tc.shown) {
				t.Errorf("%q is not shown:\n%s", tc.shown, &out)
			}
			text, err := os.ReadFile(filepath.Join(dir, "summary.json"))
			if err != nil {
				t.Fatal(err)
			}
			var s demo.Summary
			if err := json.Unmarshal(text, &s); err != nil || len(s.Pages) != 2 || !s.Verified ||
				s.Pages[0].Frames != 7 || s.Pages[0].Recording.Frames != 12 {
				t.Errorf("%v\n%s", err, text)
			}
		})
	}
}

// An unreadable recording makes the demo fail.
//
// Fault: A number of the demo differs, a run fails, or a recording is unreadable
func TestDemoVerifies(t *testing.T) {
	dir := t.TempDir()
	var out bytes.Buffer
	d := demoOf(t, t.Context(), demoCmd{Tests: []string{"load"}, Output: dir}, &out, io.Discard, func(*session.Made) {
		path := filepath.Join(dir, "runs", "load", runfolder.RecordingFile)
		b, err := os.ReadFile(path)
		if err == nil {
			b[len(b)*4/10] ^= 0x10
			err = os.WriteFile(path, b, 0o644)
		}
		if err != nil {
			t.Error(err)
		}
	})
	if err := d.run(); err == nil || !strings.Contains(err.Error(), "cannot read a recording") ||
		!strings.Contains(out.String(), "problem ") {
		t.Errorf("%v\n%s", err, &out)
	}
}

// The comparison is in the summary. The demo fails if it does not find the slower page.
//
// Fault: A number of the demo differs, a run fails, or a recording is unreadable
func TestDemoCompares(t *testing.T) {
	for outcome, want := range map[compare.Outcome]string{
		compare.Regressed: "", compare.Inconclusive: "not found",
		compare.Passed: "a slower page was not found: as it is",
	} {
		var out bytes.Buffer
		d := demoOf(t, t.Context(), demoCmd{Tests: []string{"load"}, Output: t.TempDir()}, &out, io.Discard,
			func(*session.Made) {})
		d.options.Compare = func(_ context.Context, dir string) (*demo.Comparison, error) {
			return &demo.Comparison{Answer: "as it is", Outcome: outcome, Page: filepath.Join(dir, "compare.html")}, nil
		}
		err := d.run()
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", outcome, err, want)
		}
		text, err := os.ReadFile(d.summary.Summary)
		if err != nil || !bytes.Contains(text, []byte(`"outcome": "`+string(outcome))) ||
			!strings.Contains(out.String(), "compare.html") {
			t.Errorf("%s: %v\n%s\n%s", outcome, err, text, &out)
		}
	}
}

// If the first run has no frame, the demo ends with its reason.
func TestDemoWithoutABrowser(t *testing.T) {
	runs := 0
	d := demoOf(t, t.Context(), demoCmd{Output: t.TempDir()}, io.Discard, io.Discard, func(m *session.Made) {
		runs++
		m.Record.State, m.Record.Reason, m.Record.Frames = session.Failed, "no browser is installed", 0
	})
	if err := d.run(); err == nil || err.Error() != "demo: no browser is installed" || runs != 1 {
		t.Errorf("%v after %d runs", err, runs)
	}
}

// The demo overwrites what an earlier one left, and leaves alone what is not its own or was pinned.
//
// Fault: The demo's folder holds other runs, or a rig serves it
func TestDemoOverwritesItsOwn(t *testing.T) {
	dir := t.TempDir()
	place := func(label string, files ...string) {
		t.Helper()
		for _, name := range files {
			path := filepath.Join(dir, "runs", name)
			if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
				t.Fatal(err)
			}
			r := session.Record{Schema: session.Schema, Version: session.Version, State: session.Passed,
				Labels: session.Labels{Label: label}}
			if err := r.Write(filepath.Dir(path)); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, nil, 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	place("demo", "load/old", "scroll/old", "scroll-rejected/scroll.1/old", "hover/pinned", "compared/load/run-01/old")
	place("nightly", "typing/old", "mixed/b/old")
	place("demo", "mixed/a/old")
	if err := os.MkdirAll(filepath.Join(dir, "runs", "photos", "2026"), 0o755); err != nil {
		t.Fatal(err)
	}
	d := demoOf(t, t.Context(), demoCmd{Tests: []string{"load", "typing", "hover"}, Output: dir}, io.Discard,
		io.Discard, func(*session.Made) {})
	if err := d.run(); err != nil {
		t.Fatal(err)
	}
	var there []string
	for _, pattern := range []string{"*", "*/old", "*/*/old"} {
		found, err := filepath.Glob(filepath.Join(dir, "runs", pattern))
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range found {
			rel, _ := filepath.Rel(filepath.Join(dir, "runs"), path)
			there = append(there, filepath.ToSlash(rel))
		}
	}
	want := []string{"hover", "hover-2", "load", "mixed", "photos", "typing", "typing-2", "typing/old", "mixed/a/old",
		"mixed/b/old"}
	if !slices.Equal(there, want) {
		t.Errorf("there is %q, want %q", there, want)
	}
}

func TestDemoTests(t *testing.T) {
	tests, err := demo.Tests(nil)
	if err != nil {
		t.Fatal(err)
	}
	standard, clicks := 0, false
	for _, test := range tests {
		if found, err := suite.Find(test.Name, session.Known(), suite.Standard()); err == nil {
			standard++
			clicks = clicks || slices.ContainsFunc(found.Steps, func(s suite.Step) bool {
				_, ping := s.Action.(suite.Ping)
				return ping
			})
		}
	}
	if standard < 6 || !clicks {
		t.Errorf("%d of the suite, clicks %v", standard, clicks)
	}
	for _, args := range [][]string{{"lod"}, {"load", "load"}, {"https://example.org"}} {
		var errOut bytes.Buffer
		if code := run(t.Context(), append([]string{"demo", "-o", filepath.Join(t.TempDir(), "out")}, args...), nil,
			io.Discard, &errOut); code != exitUsage {
			t.Errorf("%q: exit code %d: %s", args, code, &errOut)
		}
	}
}

// demo --serve ends with a rig's page, whose interface lists the demo's runs, this one's and not an
// earlier one's.
//
// Fault: The demo's folder holds other runs, or a rig serves it
func TestDemoServe(t *testing.T) {
	dir := t.TempDir()
	for range 2 {
		out, errOut := &output{}, &output{}
		ctx, stop := context.WithCancel(context.Background())
		d := demoOf(t, ctx, demoCmd{Tests: []string{"framerate", "load"}, Output: dir, Serve: true}, out, errOut,
			func(*session.Made) {})
		over := make(chan error, 1)
		go func() { over <- d.run() }()
		address := "http:" + out.line(t, "http:")
		c, err := client.New(address, "")
		if err != nil {
			t.Fatal(err)
		}
		var list api.Runs
		err = c.Call(t.Context(), "run.list", api.ListParams{Label: "demo"}, &list)
		c.Close()
		var names []string
		for _, r := range list.Runs {
			names = append(names, r.ID+" "+r.Test+" "+r.State)
		}
		slices.Sort(names)
		if want := []string{"framerate framerate ok", "load load ok"}; err != nil || !slices.Equal(names, want) {
			t.Errorf("%v: %q is listed, want %q", err, names, want)
		}
		if !strings.HasPrefix(address, "http://127.0.0.1:") {
			t.Errorf("it is served at %s", address)
		}
		second := demoOf(t, t.Context(), demoCmd{Tests: []string{"load"}, Output: dir, Serve: true}, io.Discard,
			io.Discard, func(*session.Made) {
				t.Error("a run is made in the folder of a rig that is at work")
			})
		if err := second.run(); err == nil {
			t.Error("two rigs have one folder")
		}
		stop()
		select {
		case err := <-over:
			if err != nil {
				t.Errorf("%v\n%s", err, errOut)
			}
		case <-time.After(patience):
			t.Fatalf("it does not end:\n%s", errOut)
		}
	}
}

// A wrong number is the exit code also of a demo that has been looked at.
//
// Fault: A number of the demo differs, a run fails, or a recording is unreadable
func TestDemoServeOfAWrongNumber(t *testing.T) {
	out := &output{}
	ctx, stop := context.WithCancel(context.Background())
	d := demoOf(t, ctx, demoCmd{Tests: []string{"load"}, Output: t.TempDir(), Serve: true, JSON: true}, io.Discard, out,
		func(m *session.Made) {
			m.Found.Results.Windows[0].Checks[0].Agrees = false
		})
	over := make(chan error, 1)
	go func() { over <- d.run() }()
	out.line(t, "http:")
	stop()
	if err := <-over; err == nil || errors.Is(err, context.Canceled) ||
		!strings.Contains(err.Error(), "values differ from the drawn content") {
		t.Error(err)
	}
}

// Over lines the load page comes again, if they can be made; if not, the demo says so and goes on.
// A link that misses its figures is tried again, and does not fail the demo.
//
// Fault: The demo cannot make links, or the machine is too busy for one
func TestDemoOverLines(t *testing.T) {
	own := len(demo.DefaultTests())
	for _, tc := range []struct {
		name  string
		try   error
		runs  int
		shown []string
		end   func(made int, m *session.Made)
	}{
		{"as asked", nil, own + 2, []string{"OVER A LINK", "load-3g", "301.0 ms", "1.60 Mbit/s",
			"1,205 (1,190–1,220) ms", "waterfall.svg"}, func(int, *session.Made) {}},
		{"no privilege", &link.PrivilegeError{What: "make a namespace", Err: os.ErrPermission}, own,
			[]string{"load is not loaded over cable and 3g, because this user may not make links: " +
				"make a namespace: permission denied; a packet link takes root"}, nil},
		{"not there", fmt.Errorf("a packet link takes Linux: %w", errors.ErrUnsupported), own,
			[]string{"load is not loaded over cable and 3g"}, nil},
		{"busy", nil, own + 2*3,
			[]string{"failed: the network differs from the test's: the rate is off"},
			func(_ int, m *session.Made) {
				m.Record.State, m.Record.Reason, m.Record.Network, m.Record.Checks = session.Failed, session.NotAsAsked+
					": the rate is off", nil, 0
			}},
		{"busy for a while", nil, own + 2 + 1, []string{"OVER A LINK", "load-cable"}, func(made int, m *session.Made) {
			if made == own+1 {
				m.Record.State, m.Record.Reason = session.Failed, session.NotAsAsked+": the rate is off"
			}
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var out, errOut bytes.Buffer
			dir, runs := t.TempDir(), 0
			d := demoOf(t, t.Context(), demoCmd{Output: dir}, &out, &errOut, func(m *session.Made) {
				runs++
				if !strings.HasPrefix(m.Record.Test, "load-") {
					return
				}
				n := &session.Network{Profile: strings.TrimPrefix(m.Record.Test, "load-"), Requests: 4,
					BytesDown: 36_000}
				n.RTT.Asked, n.RTT.Got, n.Down.Asked, n.Down.Got = 300*time.Millisecond, 301*time.Millisecond,
					1600*link.Kbit, 1597*link.Kbit
				m.Record.Network = n
				m.Found.Results.Windows[0].Results = []analyze.Result{{Measure: "speedindex", Values: []analyze.Value{
					{Name: "first_visual_change", Value: 1204.5, Low: 1190, High: 1220, State: analyze.Bounded},
					{Name: "last_visual_change", State: analyze.Refused},
				}}}
				pictures := filepath.Join(dir, "runs", m.Record.Test, runfolder.PicturesDir)
				if err := errors.Join(os.Mkdir(pictures, 0o755), os.WriteFile(filepath.Join(pictures, "waterfall.svg"),
					nil, 0o644)); err != nil {
					t.Error(err)
				}
				tc.end(runs, m)
			})
			d.options.TryLink = func() error { return tc.try }
			if err := d.run(); err != nil || runs != tc.runs {
				t.Errorf("%v after %d runs, want %d\n%s", err, runs, tc.runs, &errOut)
			}
			for _, want := range tc.shown {
				if !strings.Contains(strings.Join(strings.Fields(out.String()), " "),
					strings.Join(strings.Fields(want), " ")) {
					t.Errorf("%q is not shown:\n%s", want, &out)
				}
			}
			if tc.runs != own+2 {
				return
			}
			text, err := os.ReadFile(filepath.Join(dir, "summary.json"))
			if err != nil {
				t.Fatal(err)
			}
			var s demo.Summary
			if err := json.Unmarshal(text, &s); err != nil {
				t.Fatal(err)
			}
			last := s.Pages[len(s.Pages)-1].Network
			if s.Pages[0].Network != nil || last == nil || last.Requests != 4 || last.RTT.Got != 301*time.Millisecond ||
				last.FirstChangeNS.High != 1_220_000_000 || last.LastChangeNS != nil ||
				!strings.HasSuffix(last.Waterfall, "waterfall.svg") {
				t.Errorf("%+v", last)
			}
		})
	}
}
