//go:build linux && rigvm

package certify

import (
	"net/url"
	"path/filepath"
	"testing"
	"time"

	"github.com/eideticker/eideticker/capture/v4l2"
)

// Nodes of the VM; see TestVM.
const (
	input  = "/dev/video0"
	output = "/dev/video1"
)

func set(t *testing.T, path, name string, value int64) {
	t.Helper()
	if err := v4l2.SetControl(path, name, value); err != nil {
		t.Fatal(err)
	}
}

// loop connects the output to the input, in a small mode: time in the VM is slow.
func loop(t *testing.T) {
	t.Helper()
	d, err := v4l2.Inspect(input)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range d.Controls {
		for value, label := range c.Menu {
			if c.Name == "DV Timings" && label == "640x480p59" {
				set(t, input, c.Name, value)
			}
		}
	}
	const modeSelected, osdNone = 4, 2
	set(t, input, "DV Timings Signal Mode", modeSelected)
	set(t, input, "OSD Text Mode", osdNone)
	set(t, input, "Loop Video", 1)
}

// certifyLoop certifies the loop in one format of the input.
func certifyLoop(t *testing.T, params url.Values) *Report {
	t.Helper()
	src, err := v4l2.Open(t.Context(), input, params)
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	out, err := OpenOutput("v4l2:"+output, OutputOptions{Width: 640, Height: 480, Source: src.Info()})
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	r, err := Run(t.Context(), src, out, Options{Duration: 4 * time.Second, Path: filepath.Join(t.TempDir(), "a.eid")})
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range r.Findings {
		t.Logf("%-10s %-10s %-8s %s -> %s", f.Property, f.Verdict, f.Kind, f.Sent, f.Came)
	}
	t.Logf("%+v\n%+v\n%+v", r.Played, r.Time, r.Delay)
	return r
}

// TestLoopComesThrough certifies a driver that copies what it is given: nothing of a picture may be
// found changed. Time is not judged: the machine is emulated, and both ends of the loop are threads
// of it that miss their time.
func TestLoopComesThrough(t *testing.T) {
	loop(t)
	r := certifyLoop(t, url.Values{"format": {"BGR4"}})
	if r.NoPattern != "" || r.Time.Judged < 3 {
		t.Fatalf("%s, %d frames judged", r.NoPattern, r.Time.Judged)
	}
	for _, f := range r.Findings {
		switch f.Property {
		case propertySignal, propertyOrder, propertyTearing, propertyBlending, propertyScale, propertyPosition,
			propertyDetail, propertyChroma,
			propertyRange, propertyColour, propertyLevels, propertyBits:
			if f.Verdict != Pass {
				t.Errorf("%s: %s, %s: %s", f.Property, f.Verdict, f.Came, f.Advice)
			}
		}
	}
}

// TestLoopDropsAreLosses has the driver drop a tenth of its frames, which it counts: they are
// losses, and no hidden drops.
func TestLoopDropsAreLosses(t *testing.T) {
	loop(t)
	set(t, input, "Percentage of Dropped Buffers", 10)
	t.Cleanup(func() { set(t, input, "Percentage of Dropped Buffers", 0) })
	r := certifyLoop(t, url.Values{"format": {"BGR4"}})
	if r.Time.Lost == 0 || len(r.Losses) == 0 {
		t.Errorf("no loss was noticed: %+v", r.Losses)
	}
	if r.Exactness.WrongPixels > 0 || r.Time.Reordered > 0 {
		t.Errorf("%+v", r.Exactness)
	}
}
