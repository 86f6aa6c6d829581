package x11

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/eideticker/eideticker/capture"
	"github.com/eideticker/eideticker/capture/frame"
	"github.com/eideticker/eideticker/capture/timeline"
	"github.com/eideticker/eideticker/ringbuf"
	"github.com/jezek/xgb/randr"
	"github.com/jezek/xgb/xproto"
)

// picture is noise without the byte that is not shown, which a server is free to change.
func picture(width, height int) []byte {
	pix := make([]byte, width*height*4)
	rand.NewChaCha8([32]byte{1}).Read(pix)
	for i := 3; i < len(pix); i += 4 {
		pix[i] = 0
	}
	return pix
}

// first returns the first frame of a source.
func first(t *testing.T, s *source) ([]byte, frame.Meta) {
	t.Helper()
	ring := newRing(t, 4, s.size)
	rd := ring.NewReader(ringbuf.Latest)
	ran, cancel := running(t, s, ring)
	l, err := rd.Next(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer l.Release()
	pix, meta := bytes.Clone(l.Bytes()), l.Meta()
	cancel()
	if err := <-ran; err != nil {
		t.Error(err)
	}
	return pix, meta
}

// running runs a source until the test's end, or until cancel.
func running(t *testing.T, s *source, ring *capture.Ring) (ran <-chan error, cancel func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	result, done := make(chan error, 1), make(chan struct{})
	go func() {
		result <- s.Run(ctx, ring, nil)
		close(done)
	}()
	t.Cleanup(func() { // before the source is closed
		cancel()
		<-done
	})
	return result, cancel
}

// await looks at a ring until something holds of it, as long as the source that fills it runs.
func await(t *testing.T, ran <-chan error, holds func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for !holds() {
		select {
		case err := <-ran:
			t.Fatalf("the source has ended: %v", err)
		case <-ctx.Done():
			t.Fatal("not within a minute")
		case <-time.After(time.Millisecond):
		}
	}
}

// wantSame compares pictures but for the byte that is not shown.
func wantSame(t *testing.T, got, want []byte, width int) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%d bytes, want %d", len(got), len(want))
	}
	for i := range want {
		if i%4 != 3 && got[i] != want[i] {
			t.Fatalf("pixel (%d,%d) is %v, want %v", i/4%width, i/4/width, got[i/4*4:][:3], want[i/4*4:][:3])
		}
	}
}

func cut(pix []byte, width int, r frame.Region) []byte {
	var out []byte
	for y := r.Y; y < r.Y+r.Height; y++ {
		out = append(out, pix[(y*width+r.X)*4:][:r.Width*4]...)
	}
	return out
}

func TestPictureIsExact(t *testing.T) {
	const width, height = 333, 201
	server := startServer(t, fmt.Sprintf("%dx%dx24", width, height))
	c := server.client(t)
	pix := picture(width, height)
	c.picture(pix)
	c.fill(0x123456, 10, 20, 30, 40)
	for y := 20; y < 60; y++ {
		for x := 10; x < 40; x++ {
			copy(pix[(y*width+x)*4:], []byte{0x56, 0x34, 0x12})
		}
	}
	for _, r := range []frame.Region{
		{X: 0, Y: 0, Width: width, Height: height},
		{X: 5, Y: 15, Width: 101, Height: 77},
		{X: width - 1, Y: height - 1, Width: 1, Height: 1},
	} {
		t.Run(r.String(), func(t *testing.T) {
			before := timeline.Monotonic().Now()
			s := server.open(t, "cursor=0&region="+r.String())
			info := s.Info()
			want, _ := frame.NewFormat(frame.BGR4, r.Width, r.Height)
			if info.Format != want || !info.Clocked || info.OwnClock ||
				info.Period != (capture.Rational{Num: 1, Den: 60}) {
				t.Errorf("info %+v", info)
			}
			got, meta := first(t, s)
			wantSame(t, got, cut(pix, width, r), r.Width)
			if i := meta.Sampled; !i.Valid() || i.Earliest < before || i.Latest > timeline.Monotonic().Now() {
				t.Errorf("sampled %v", i)
			}
		})
	}
}

func TestCursor(t *testing.T) {
	const width, height = 200, 150
	server := startServer(t, fmt.Sprintf("%dx%dx24", width, height))
	c := server.client(t)
	pix := picture(width, height)
	c.picture(pix)
	for _, tc := range []struct{ x, y int }{{100, 50}, {0, 0}, {width - 1, height - 1}} {
		c.cursor(8, 2, 3, tc.x, tc.y)
		want := bytes.Clone(pix)
		for y := max(0, tc.y-3); y < min(height, tc.y-3+8); y++ {
			for x := max(0, tc.x-2); x < min(width, tc.x-2+8); x++ {
				copy(want[(y*width+x)*4:], []byte{0, 0x80, 0xff})
			}
		}
		got, _ := first(t, server.open(t, ""))
		wantSame(t, got, want, width)
		got, _ = first(t, server.open(t, "cursor=0"))
		wantSame(t, got, pix, width)
		r := frame.Region{X: 97, Y: 48, Width: 50, Height: 60}
		got, _ = first(t, server.open(t, "cursor=1&region="+r.String()))
		wantSame(t, got, cut(want, width, r), r.Width)
	}
}

func TestBlend(t *testing.T) {
	// 2x1 cursor: half transparent blue, opaque red. Hot spot (1,0), at (3,0) of the screen.
	reply := append(make([]byte, 32), 128, 0, 0, 128, 0, 0, 255, 255)
	reply[8], reply[12], reply[14], reply[16] = 3, 2, 1, 1
	c, ok := parseCursor(reply)
	if !ok {
		t.Fatal("not understood")
	}
	pix := []byte{100, 100, 100, 9, 100, 101, 255, 9, 1, 2, 3, 9}
	c.draw(pix, 1, 0, 3, 1)
	if want := []byte{100, 100, 100, 9, 178, 50, 127, 9, 0, 0, 255, 9}; !bytes.Equal(pix, want) {
		t.Errorf("got %v, want %v", pix, want)
	}
	for n := range reply { // a reply that is shorter than it says is not a cursor
		if _, ok := parseCursor(reply[:n]); ok {
			t.Errorf("%d bytes were taken for a cursor", n)
		}
	}
	cursorImage{x: -5, y: -5, width: 2, height: 1, pixels: make([]byte, 8)}.draw(pix, 0, 0, 3, 1)
}

// Sequence numbers are ticks: what the ring had no room for leaves a hole.
func TestFullRingSpendsNumbers(t *testing.T) {
	server := startServer(t, "64x48x24")
	s := server.open(t, "fps=500")
	ring := newRing(t, 3, s.size)
	rd := ring.NewReader(ringbuf.Lossless)
	ran, cancel := running(t, s, ring)
	await(t, ran, func() bool { return ring.Stats().Lost >= 5 })
	// Frames stay unread until some were lost, then everything flows again.
	last, lost, holes := uint64(0), uint64(0), uint64(0)
	for i := range 20 {
		l, err := rd.Next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		m := l.Meta()
		if i > 0 {
			if m.Sequence <= last {
				t.Errorf("number %d follows %d", m.Sequence, last)
			}
			hole := m.Sequence - last - 1
			if hole < l.LostBefore() || hole > l.LostBefore() && m.Missed != frame.SourceLate {
				t.Errorf("frame %d: hole of %d, %d lost, %v", m.Sequence, hole, l.LostBefore(), m.Missed)
			}
			holes, lost = holes+hole, lost+l.LostBefore()
		}
		last = m.Sequence
		l.Release()
	}
	if lost < 5 || holes < lost {
		t.Errorf("%d lost, holes of %d", lost, holes)
	}
	cancel()
	if err := <-ran; err != nil {
		t.Error(err)
	}
}

func TestServerDies(t *testing.T) {
	server := startServer(t, "64x48x24")
	s := server.open(t, "")
	ring := newRing(t, 4, s.size)
	rd := ring.NewReader(ringbuf.Latest)
	ran, _ := running(t, s, ring)
	l, err := rd.Next(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	l.Release()
	server.stop()
	err = <-ran
	if err == nil || !strings.Contains(err.Error(), "X server ended") ||
		!strings.Contains(err.Error(), server.display) {
		t.Errorf("error %v", err)
	}
}

func TestScreenResized(t *testing.T) {
	for _, tc := range []struct {
		name, params  string
		width, height int
		ends          bool
	}{
		{"smaller", "", 64, 48, true},
		{"larger", "", 660, 500, true}, // the server's limit is the size it began with
		{"smaller than the region", "region=100x100+0+0", 64, 48, true},
		{"region still fits", "region=32x32+0+0", 64, 48, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			server := startServer(t, "660x500x24")
			c := server.client(t)
			resize(t, c, 640, 480)
			s := server.open(t, tc.params)
			ring := newRing(t, 4, s.size)
			rd := ring.NewReader(ringbuf.Latest)
			ran, cancel := running(t, s, ring)
			resize(t, c, tc.width, tc.height)
			if !tc.ends {
				for range 3 { // frames keep coming
					l, err := rd.Next(t.Context())
					if err != nil {
						t.Fatal(err)
					}
					l.Release()
				}
				cancel()
			}
			err := <-ran
			if errors.Is(err, errResized) != tc.ends {
				t.Errorf("error %v", err)
			}
			if want := fmt.Sprintf("from 640x480 to %dx%d", tc.width, tc.height); tc.ends &&
				!strings.Contains(fmt.Sprint(err), want) {
				t.Errorf("error %v, want %q", err, want)
			}
		})
	}
}

func resize(t *testing.T, c *client, width, height int) {
	t.Helper()
	if err := randr.Init(c.Conn); err != nil {
		t.Fatal(err)
	}
	res, err := randr.GetScreenResources(c.Conn, c.screen.Root).Reply()
	if err != nil {
		t.Fatal(err)
	}
	for _, crtc := range res.Crtcs {
		if _, err := randr.SetCrtcConfig(c.Conn, crtc, 0, res.ConfigTimestamp, 0, 0, 0, randr.RotationRotate0,
			nil).Reply(); err != nil {
			t.Fatal(err)
		}
	}
	if err := randr.SetScreenSizeChecked(c.Conn, c.screen.Root, uint16(width), uint16(height), 100,
		100).Check(); err != nil {
		t.Fatal(err)
	}
}

// Segments of this process stay in the kernel's list while attached, marked for removal.
func TestNoSegmentIsLeft(t *testing.T) {
	server := startServer(t, "320x200x24")
	s := server.open(t, "")
	if n := segments(t); n != 1 {
		t.Errorf("%d segments while open", n)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(server.display, query(t, "region=1x1+320+0")); err == nil {
		t.Error("no error")
	}
	server.stop() // else it may not have noticed yet that we have gone
	if n := segments(t); n != 0 {
		t.Errorf("%d segments afterwards", n)
	}
}

func segments(t *testing.T) (n int) {
	t.Helper()
	list, err := os.ReadFile("/proc/sysvipc/shm")
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range strings.Split(string(list), "\n")[1:] {
		// key shmid perms size cpid lpid …; perms hold SHM_DEST, 01000
		if f := strings.Fields(line); len(f) > 4 && f[4] == fmt.Sprint(os.Getpid()) {
			n++
			if f[2] != "1600" {
				t.Errorf("segment %s is not marked for removal: %s", f[1], f[2])
			}
		}
	}
	return n
}

func TestTicks(t *testing.T) {
	tk := ticks{start: 1000, period: capture.Rational{Num: 1001, Den: 60000}}
	const period = 16683333
	for _, tc := range []struct {
		name string
		n    uint64
		late time.Duration // past tick n
		want uint64
	}{
		{"in time", 7, time.Millisecond, 8},
		{"just before the next", 7, period - 1, 8},
		{"late, but less than a period", 7, period + period/2, 8},
		{"one missed", 7, 2*period + 2, 9},
		{"many missed", 7, 100*period + 1000, 107},
		{"after a year", 1_892_160_000, time.Millisecond, 1_892_160_001},
		{"a year late", 0, 365 * 24 * time.Hour, 1_890_269_730},
	} {
		if got := tk.after(tc.n, tk.due(tc.n).Add(tc.late)); got != tc.want {
			t.Errorf("%s: %d, want %d", tc.name, got, tc.want)
		}
	}
}

// A server that does not answer must not keep Run after its context has ended.
func TestServerHangs(t *testing.T) {
	server := startServer(t, "64x48x24")
	c := server.client(t)
	s := server.open(t, "")
	ring := newRing(t, 4, s.size)
	c.check(xproto.GrabServerChecked(c.Conn).Check()) // others get no answer from now on
	ran, cancel := running(t, s, ring)
	await(t, ran, func() bool { return ring.Stats().Used > 0 }) // it has asked
	cancel()
	if err := <-ran; err != nil {
		t.Error(err)
	}
	xproto.UngrabServer(c.Conn)
}

func BenchmarkGrab(b *testing.B) {
	for _, screen := range []string{"1280x720", "1920x1080"} {
		for _, cursor := range []string{"0", "1"} {
			b.Run("size="+screen+"/cursor="+cursor, func(b *testing.B) {
				server := startServer(b, screen+"x24")
				s := server.open(b, "cursor="+cursor)
				ring := newRing(b, 3, s.size)
				b.SetBytes(int64(s.size))
				b.ReportAllocs()
				for n := uint64(0); b.Loop(); n++ {
					if ok, err := s.tick(ring, n, frame.NoCause); !ok || err != nil {
						b.Fatal(ok, err)
					}
				}
			})
		}
	}
}
