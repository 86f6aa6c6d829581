//go:build linux && rigvm

package v4l2

import (
	"errors"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/eideticker/eideticker/capture"
	"github.com/eideticker/eideticker/capture/frame"
	"github.com/eideticker/eideticker/capture/timeline"
)

// each runs a test with memory of the driver and with that of the ring.
func each(t *testing.T, test func(t *testing.T, params string)) {
	for _, memory := range []string{"mmap", "userptr"} {
		t.Run(memory, func(t *testing.T) {
			still(t, hdmi)
			test(t, "format=YUYV&memory="+memory)
		})
	}
}

// times counts an event.
func times(r *recording, kind string) (n int) {
	for _, k := range r.kinds() {
		if k == kind {
			n++
		}
	}
	return n
}

func TestDroppedBuffers(t *testing.T) {
	each(t, func(t *testing.T, params string) {
		r := record(t, openSource(t, hdmi, params))
		set(t, hdmi, "Percentage of Dropped Buffers", 30)
		defer set(t, hdmi, "Percentage of Dropped Buffers", 0)
		r.some(30) // none is dropped once in 40,000 times
		if holes := r.account(); holes[frame.DriverLost] == 0 {
			t.Errorf("no frame is missing: %v", holes)
		}
	})
}

func TestErrorFlag(t *testing.T) {
	each(t, func(t *testing.T, params string) {
		r := record(t, openSource(t, hdmi, params))
		r.some(5)
		set(t, hdmi, "Inject V4L2_BUF_FLAG_ERROR", 1)
		flagged := func() (n int) {
			r.mu.Lock()
			defer r.mu.Unlock()
			for _, m := range r.metas {
				if m.Flags&frame.FlagError != 0 {
					n++
				}
			}
			return n
		}
		if err := r.until("a damaged frame", func() bool { return flagged() > 0 }); err != nil {
			t.Error(err)
		}
		r.some(5)
		r.account()
		if n := times(r, "damaged frames"); n != 1 {
			t.Errorf("it was told %d times", n)
		}
	})
}

// Fault: The driver drops frames, or a counter wraps
func TestWrappedSequence(t *testing.T) {
	each(t, func(t *testing.T, params string) {
		set(t, hdmi, "Wrap Sequence Number", 1)
		defer set(t, hdmi, "Wrap Sequence Number", 0)
		r := record(t, openSource(t, hdmi, params))
		last := func() uint64 {
			r.mu.Lock()
			defer r.mu.Unlock()
			if len(r.metas) == 0 {
				return 0
			}
			return r.metas[len(r.metas)-1].Sequence
		}
		if err := r.until("a count beyond 32 bits", func() bool { return last() > 1<<32+5 }); err != nil {
			t.Error(err)
		}
		r.account()
		if r.metas[0].Sequence >= 1<<32 {
			t.Errorf("the first frame is %d: nothing wrapped", r.metas[0].Sequence)
		}
		if n := times(r, "sequence not used"); n != 0 {
			t.Error("the count is not believed")
		}
	})
}

// Fault: The driver drops frames, or a counter wraps
func TestWrappedTimestamp(t *testing.T) {
	each(t, func(t *testing.T, params string) {
		set(t, hdmi, "Wrap Timestamp", 1)
		defer set(t, hdmi, "Wrap Timestamp", 0)
		r := record(t, openSource(t, hdmi, params))
		before := r.src.clock.Now()
		r.some(20)
		after := r.src.clock.Now()
		r.account()
		if n := times(r, "timestamps not used"); n != 1 {
			t.Errorf("it was told %d times", n)
		}
		for _, m := range r.metas {
			if m.Sampled.Earliest < before-1e9 || m.Sampled.Latest > after {
				t.Errorf("frame %d was sampled %v, which is not within the recording", m.Sequence, m.Sampled)
			}
		}
	})
}

// A signal that goes and returns leaves a gap with its cause, and one event each way.
func TestSignalLost(t *testing.T) {
	for _, tc := range []struct {
		name string
		mode int64
		want error
	}{
		{"no signal", modeNoSignal, errNoCable}, // vivid's source has no power either
		{"no lock", modeNoLock, errNoLock},
		{"out of range", modeRange, errOutOfRange},
	} {
		t.Run(tc.name, func(t *testing.T) {
			each(t, func(t *testing.T, params string) {
				r := record(t, openSource(t, hdmi, params))
				r.some(10)
				set(t, hdmi, signalMode, tc.mode)
				kept := 0
				if err := r.until("the loss", func() bool {
					kept = r.frames()
					return times(r, "signal lost") == 1
				}); err != nil {
					t.Fatal(err)
				}
				if d, err := Inspect(hdmi); err != nil || !errors.Is(d.Signal.Err(), tc.want) {
					t.Errorf("the device says %v, %v", d.Signal, err)
				}
				if _, err := Open(t.Context(), hdmi, map[string][]string{"wait": {"100ms"}}); !errors.Is(err, tc.want) {
					t.Errorf("opened: %v, want %v", err, tc.want)
				}
				set(t, hdmi, signalMode, modeSelected)
				if err := r.until("the return", func() bool { return r.frames() > kept+10 }); err != nil {
					t.Fatal(err)
				}
				if holes := r.account(); holes[frame.SignalLost] == 0 {
					t.Errorf("the gap is not of a lost signal: %v", holes)
				}
				if times(r, "signal lost") != 1 || times(r, "signal back") != 1 {
					t.Errorf("told %v", r.kinds())
				}
			})
		})
	}
}

// A signal that changes its mode ends one run; the next goes on in the other format and with the
// numbers.
func TestTimingsChange(t *testing.T) {
	each(t, func(t *testing.T, params string) {
		r := record(t, openSource(t, hdmi, params))
		r.some(10)
		first := r.src.Info().Format
		var at []int
		for _, name := range []string{"800x600p60", "640x480p59"} {
			at = append(at, r.frames())
			choose(t, hdmi, name)
			info := r.renegotiate(r.until("the change to "+name, nil))
			t.Log(info.Format, info.Period)
			r.some(10)
		}
		if got := r.src.Info().Format; got != first {
			t.Errorf("back in %v, want %v", got, first)
		}
		holes := r.account()
		if holes[frame.FormatChange] == 0 || times(r, "format changed") != 2 {
			t.Errorf("holes %v, told %v", holes, r.kinds())
		}
		for _, i := range at {
			if r.frames() <= i {
				t.Errorf("no frame after the change at %d", i)
			}
		}
	})
}

// An interlaced signal is refused by name when opened, and waited out when it comes in the middle.
func TestInterlaced(t *testing.T) {
	each(t, func(t *testing.T, params string) {
		r := record(t, openSource(t, hdmi, params))
		r.some(5)
		choose(t, hdmi, "1920x1080i30") // vivid counts frames where others count fields
		if err := r.until("the refusal", func() bool { return times(r, "signal refused") == 1 }); err != nil {
			t.Fatal(err)
		}
		if _, err := Open(t.Context(), hdmi, nil); !errors.Is(err, errUnsupported) {
			t.Errorf("opened: %v", err)
		} else {
			t.Log(err)
		}
		choose(t, hdmi, "640x480p59")
		r.some(5)
		if holes := r.account(); holes[frame.SignalRefused] == 0 {
			t.Errorf("holes %v", holes)
		}
	})
}

// Errors that the driver makes on demand, while it streams or when it begins to, are mended. That
// it makes them is seen where they come from.
func TestInjectedErrors(t *testing.T) {
	const fatal = "Inject Fatal Streaming Error"
	for _, tc := range []struct {
		name    string
		request uintptr
		again   bool // it shows when the stream is begun again
	}{
		{"Inject VIDIOC_REQBUFS Error", vidiocReqbufs, true},
		{"Inject VIDIOC_QBUF Error", vidiocQbuf, false},
		{"Inject VIDIOC_STREAMON Error", vidiocStreamOn, true},
		{fatal, vidiocDqbuf, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			each(t, func(t *testing.T, params string) {
				// An error that the test before has not met shows here.
				if earlier, err := Open(t.Context(), hdmi, nil); err == nil {
					if err := earlier.Close(); err != nil {
						t.Fatal(err)
					}
				}
				src, tap := openTapped(t, hdmi, params)
				r := record(t, src)
				r.some(5)
				set(t, hdmi, tc.name, 1) // between two streams, and then within one
				want, pressed := 0, false
				err := r.until("frames after the error", func() bool {
					if !pressed && r.frames() >= 15 {
						pressed = true
						set(t, hdmi, tc.name, 1)
						if tc.again {
							set(t, hdmi, fatal, 1)
						}
						want = r.frames() + 30
					}
					return pressed && r.frames() >= want
				})
				if err != nil {
					t.Fatal(err)
				}
				failed := tap.failed[tc.request]
				if tc.name == fatal { // it shows at whatever comes next
					failed += tap.failed[vidiocQbuf]
				}
				if failed == 0 {
					t.Errorf("the driver has not failed: %v", tap.failed)
				}
				if restarted := times(r, "stream restarted") > 0; restarted != (tc.request != vidiocQbuf) &&
					!stalled(r) {
					t.Errorf("told %v", r.kinds())
				}
				r.account()
			})
		})
	}
}

// stalled reports whether the machine that emulates ours had other things to do.
func stalled(r *recording) bool {
	return slices.ContainsFunc(r.events,
		func(e timeline.Event) bool { return strings.Contains(string(e.Data), errStalled.Error()) })
}

// errorTap counts what the driver refuses, by request.
type errorTap struct {
	node
	failed map[uintptr]int
}

func (e *errorTap) ioctl(request uintptr, arg unsafe.Pointer) error {
	err := e.node.ioctl(request, arg)
	if err != nil && !errors.Is(err, unix.EAGAIN) {
		e.failed[request]++
	}
	return err
}

// openTapped is openSource with a tap.
func openTapped(t *testing.T, path, params string) (*source, *errorTap) {
	t.Helper()
	q, err := url.ParseQuery(params)
	if err != nil {
		t.Fatal(err)
	}
	tap := &errorTap{failed: map[uintptr]int{}}
	s, err := openWith(t.Context(), path, q, func(path string) (node, error) {
		n, err := openNode(path)
		tap.node = n
		return tap, err
	}, findAgain)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s.(*source), tap
}

// A device that goes away is waited for, opened again, and the recording goes on.
func TestDisconnect(t *testing.T) {
	each(t, func(t *testing.T, params string) {
		r := record(t, openSource(t, hdmi, params))
		r.some(10)
		// The driver comes back when the last program has closed it, ours here.
		want, pulled := 0, false
		err := r.until("the return", func() bool {
			if !pulled {
				pulled = true
				set(t, hdmi, "Disconnect", 1)
				want = r.frames() + 30
			}
			return times(r, "device back") == 1 && r.frames() > want
		})
		if err != nil {
			t.Fatal(err)
		}
		if holes := r.account(); holes[frame.DeviceGone] == 0 {
			t.Errorf("holes %v", holes)
		}
		if times(r, "device gone") != 1 || times(r, "device back") != 1 {
			t.Errorf("told %v", r.kinds())
		}
	})
}

// A device that another program streams from is refused, and the recording of the other is not
// disturbed.
//
// Fault: Another program holds the capture device
func TestBusy(t *testing.T) {
	still(t, hdmi)
	r := record(t, openSource(t, hdmi, "format=YUYV"))
	var second error
	tried := false
	err := r.until("the second", func() bool {
		if !tried && r.frames() > 5 {
			tried = true
			var s capture.Source
			if s, second = Open(t.Context(), hdmi, nil); s != nil {
				s.Close()
			}
			d, err := Inspect(hdmi)
			if err != nil || !d.Streams {
				t.Errorf("inspected: streams %v, %v", d.Streams, err)
			}
		}
		return tried && r.frames() > 20
	})
	if err != nil {
		t.Error(err)
	}
	if !errors.Is(second, ErrBusy) {
		t.Errorf("opened twice: %v", second)
	}
	t.Log(second)
	r.account()
	if slices.Contains(r.kinds(), "stream restarted") {
		t.Error("the recording was disturbed")
	}
}

// Opening waits for a signal as long as the parameter says.
func TestOpenWaits(t *testing.T) {
	still(t, hdmi)
	set(t, hdmi, signalMode, modeNoSignal)
	back := time.AfterFunc(300*time.Millisecond, func() { set(t, hdmi, signalMode, modeSelected) })
	defer back.Stop()
	s, err := Open(t.Context(), hdmi, map[string][]string{"wait": {"1m"}})
	if err != nil {
		t.Fatal(err)
	}
	s.Close()
}

// A device that goes away between opening and the first frame is an error, not something to wait
// for.
//
// Fault: The capture device disappears before its first frame
func TestVanishes(t *testing.T) {
	still(t, hdmi)
	fds, _ := used(t)
	s, err := Open(t.Context(), hdmi, nil)
	if err != nil {
		t.Fatal(err)
	}
	set(t, hdmi, "Disconnect", 1)
	err = record(t, s.(*source)).until("the end", nil)
	if !errors.Is(err, errNoDevice) {
		t.Errorf("Run returned %v", err)
	}
	t.Log(err)
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if now, _ := used(t); now != fds {
		t.Errorf("%d files are open, were %d", now, fds)
	}
	again, err := Open(t.Context(), hdmi, nil) // the driver comes back when the last program has closed it
	if err != nil {
		t.Fatal(err)
	}
	if err := again.Close(); err != nil {
		t.Error(err)
	}
}
