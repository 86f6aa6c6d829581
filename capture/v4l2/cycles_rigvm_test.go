//go:build linux && rigvm

package v4l2

import (
	"errors"
	"os"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"github.com/eideticker/eideticker/capture/frame"
)

// used counts this process's open files and its mappings of devices and buffers.
func used(t *testing.T) (fds, maps int) {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if strings.Contains(line, "/dev/video") || strings.Contains(line, "dmabuf") {
			maps++
		}
	}
	return len(entries), maps
}

// Opening, streaming and closing again and again leaves neither a file nor a mapping.
func TestCyclesLeaveNothing(t *testing.T) {
	still(t, hdmi)
	fds, maps := used(t)
	if maps != 0 {
		t.Fatalf("%d mappings before the test", maps)
	}
	for i := range 12 {
		s, err := Open(t.Context(), hdmi,
			map[string][]string{"format": {"YUYV"}, "memory": {[]string{"mmap", "userptr", "dmabuf"}[i%3]}})
		if err != nil {
			t.Fatal(err)
		}
		r := record(t, s.(*source))
		r.slots = leastSlots
		r.some(1)
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		if err := s.Close(); err != nil {
			t.Errorf("closed twice: %v", err)
		}
	}
	if f, m := used(t); f != fds || m != 0 {
		t.Errorf("%d files and %d mappings are left, were %d and 0", f, m, fds)
	}
}

// A source that cannot be opened leaves nothing either, and its error is one sentence.
//
// Fault: Not a capture device, or no permission to open it
// Fault: The device lacks a format, size, rate or memory type
func TestBadInput(t *testing.T) {
	for _, path := range []string{hdmi, hdmiMulti} {
		still(t, path)
	}
	set(t, hdmiMulti, signalMode, modeNoSignal)
	defer set(t, hdmiMulti, signalMode, modeSelected)
	output, metadata := nodesOf(t)
	if err := os.WriteFile("/tmp/file", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	fds, _ := used(t)
	for _, tc := range []struct {
		name, path, params string
		is                 error
		want               []string
	}{
		{"no such node", "/dev/video99", "", errNoDevice, []string{"/dev/video99", "eideticker sources"}},
		{"a file", "/tmp/file", "", errNoDevice, []string{"not a device node"}},
		{"another device", "/dev/null", "", errNoDevice, []string{"not a V4L2 node"}},
		{"an output", output, "", errNoDevice, []string{"a video output node"}},
		{"metadata", metadata, "", errNoDevice, []string{"a metadata node"}},
		{"no such input", hdmi, "input=7", nil, []string{"no input 7", "0 (HDMI"}},
		{"a format that it has not", hdmi, "format=ABCD", nil, []string{"no format ABCD", "YUYV", "BGR4"}},
		{"a format that cannot be recorded", hdmi, "format=HSV3", errUnsupported,
			[]string{"HSV3", "unknown format", "YUYV"}},
		{"another size than the signal's", hdmi, "size=320x240", nil, []string{"640x480p59.94", "scaled", "320x240"}},
		{"no signal", hdmiMulti, "wait=0s", nil, []string{"no"}},
		{"a size that a camera has not", camera, "size=333x222", nil, []string{"333x222", "320x180", "640x360"}},
		{"a rate that a camera has not", camera, "size=320x180&fps=7", nil, []string{"asked for 7", "30"}},
		{"an EDID for a camera", camera, "edid=640x480@60", nil, []string{"has no EDID"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			params := map[string][]string{}
			for pair := range strings.SplitSeq(tc.params, "&") {
				if name, value, ok := strings.Cut(pair, "="); ok {
					params[name] = []string{value}
				}
			}
			s, err := Open(t.Context(), tc.path, params)
			if err == nil {
				s.Close()
				t.Fatal("it opens")
			}
			t.Log(err)
			if tc.is != nil && !errors.Is(err, tc.is) {
				t.Errorf("it is no %v", tc.is)
			}
			for _, want := range tc.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("it does not say %q", want)
				}
			}
		})
	}
	if now, _ := used(t); now != fds {
		t.Errorf("%d files are open, were %d", now, fds)
	}
}

// nodesOf finds the nodes that capture no video.
func nodesOf(t *testing.T) (output, metadata string) {
	t.Helper()
	for _, path := range videoNodes() {
		n, err := openNode(path)
		if err != nil {
			t.Fatal(err)
		}
		d := &device{node: n, path: path}
		if err := d.identify(); err != nil {
			t.Fatal(err)
		}
		switch {
		case d.caps&capVideoOutput != 0:
			output = path
		case d.caps&capMetaCapture != 0:
			metadata = path
		}
		if err := n.close(); err != nil {
			t.Fatal(err)
		}
	}
	if output == "" || metadata == "" {
		t.Fatalf("output %q, metadata %q: the driver has not made them", output, metadata)
	}
	return output, metadata
}

// The error for a node without permission names the group that may open it.
//
// Fault: Not a capture device, or no permission to open it
func TestNoPermission(t *testing.T) {
	if err := os.Chown(hdmi, 0, 44); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(hdmi, 0o660); err != nil {
		t.Fatal(err)
	}
	runtime.LockOSThread() // the thread ends with the test, and its identity with it
	if _, _, e := syscall.RawSyscall(syscall.SYS_SETRESUID, ^uintptr(0), 1000, ^uintptr(0)); e != 0 {
		t.Fatal(e)
	}
	_, err := Open(t.Context(), hdmi, nil)
	if _, _, e := syscall.RawSyscall(syscall.SYS_SETRESUID, ^uintptr(0), 0, ^uintptr(0)); e != 0 {
		t.Fatal(e)
	}
	if !errors.Is(err, os.ErrPermission) || !strings.Contains(err.Error(), "the group video") {
		t.Errorf("%v", err)
	}
}

// No frame allocates.
func TestFramesDoNotAllocate(t *testing.T) {
	each(t, func(t *testing.T, params string) {
		s := openSource(t, hdmi, params)
		r := record(t, s)
		r.some(5)
		r.metas = make([]frame.Meta, 0, 4096)
		r.sums = make([]uint64, 0, 4096)
		var before, after runtime.MemStats
		const frames = 100
		err := r.until("frames", func() bool {
			switch n := r.frames(); {
			case n <= 5:
				runtime.ReadMemStats(&before)
			case n >= frames && after.Mallocs == 0:
				runtime.ReadMemStats(&after)
			}
			return after.Mallocs != 0
		})
		if err != nil {
			t.Fatal(err)
		}
		// The test itself has a ticker and a few goroutines.
		if n := after.Mallocs - before.Mallocs; n > frames/2 {
			t.Errorf("%d allocations for %d frames", n, frames)
		}
	})
}

// An EDID of ours is set, read back, and not set again.
func TestEDID(t *testing.T) {
	still(t, hdmi)
	modes, err := ParseModes("1920x1080@60,1280x720@59.94,1024x768@75")
	if err != nil {
		t.Fatal(err)
	}
	if err := setEDID(hdmi, modes); err != nil {
		t.Fatal(err)
	}
	d, err := Inspect(hdmi)
	if err != nil {
		t.Fatal(err)
	}
	want, err := makeEDID(modes)
	if err != nil {
		t.Fatal(err)
	}
	if d.EDID == nil || !sameEDID(d.EDID.Raw, want) {
		t.Fatalf("read back %+v, %v", d.EDID, d.EDIDErr)
	}
	t.Log(d.EDID.Name, d.EDID.Modes)

	n, err := openNode(hdmi)
	if err != nil {
		t.Fatal(err)
	}
	defer n.close()
	counting := &countEDID{node: n}
	dev, err := newDevice(counting, hdmi)
	if err != nil {
		t.Fatal(err)
	}
	if err := dev.offer(modes); err != nil || counting.set != 0 {
		t.Errorf("the same EDID was set %d times more: %v", counting.set, err)
	}
	if err := dev.offer(modes[:1]); err != nil || counting.set != 1 {
		t.Errorf("another EDID was set %d times: %v", counting.set, err)
	}
}

// Inspect tells what the VM's devices are.
func TestInspect(t *testing.T) {
	still(t, hdmi)
	all, err := List()
	if err != nil {
		t.Fatal(err)
	}
	if len(all) != 4 {
		t.Errorf("%d devices are listed, want the 4 that capture", len(all))
	}
	for _, d := range all {
		if d.Err != nil || d.Driver != "vivid" || len(d.Formats) < 10 || len(d.Controls) < 10 || len(d.Inputs) != 1 ||
			d.Current == nil {
			t.Errorf("%s: driver %s, %d formats, %d controls, %d inputs, %v", d.Path, d.Driver, len(d.Formats),
				len(d.Controls), len(d.Inputs), d.Err)
		}
		receiver := d.Path != camera
		if d.MultiPlanar != (d.Path == hdmiMulti) || (d.TimingsCap != nil) != receiver || (d.EDID != nil) != receiver {
			t.Errorf("%s: multi-planar %v, takes %v, EDID %v %v", d.Path, d.MultiPlanar, d.TimingsCap, d.EDID,
				d.EDIDErr)
		}
		if d.Path == hdmi && (d.Signal != SignalPresent || d.Timings == nil || d.Timings.String() != "640x480p59.94") {
			t.Errorf("%s: %v %v", d.Path, d.Signal, d.Timings)
		}
		if d.Path == camera {
			if rates := len(d.Formats[0].Sizes[0].Periods); rates < 3 {
				t.Errorf("%s has %d rates", d.Path, rates)
			}
			if c := d.Formats[0].Sizes; len(c) < 3 {
				t.Errorf("%s has sizes %v", d.Path, c)
			}
		}
	}
}

// A camera's size and rate are those asked for.
func TestCamera(t *testing.T) {
	s := openSource(t, camera, "size=320x180&fps=30&format=YUYV")
	i := s.Info()
	if i.Format.Width != 320 || i.Format.Height != 180 || i.Period.Num != 1 || i.Period.Den != 30 {
		t.Errorf("%v at %v", i.Format, i.Period)
	}
	r := record(t, s)
	r.some(10)
	r.account()
}

// setEDID makes the selected input of a device offer exactly the given modes, the first one
// preferred. If the input already does, nothing changes. Otherwise the device under test sees a hot
// plug. The modes stay until the device loses power.
func setEDID(path string, modes []Mode) error {
	n, err := openNode(path)
	if err != nil {
		return err
	}
	d, err := newDevice(n, path)
	if err == nil {
		err = d.offer(modes)
	}
	return errors.Join(err, n.close())
}
