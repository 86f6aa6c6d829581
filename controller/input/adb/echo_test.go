package adb

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/eideticker/eideticker/capture/timeline"
	"github.com/eideticker/eideticker/controller/input"
	"github.com/eideticker/eideticker/controller/input/adb/adbtest"
)

// slow is a cat that holds back its output after Open.
type slow struct {
	heard   chan bool // of each
	release chan bool // one of each
}

func (c slow) run(s *adbtest.Session) byte {
	for i := 0; ; i++ {
		b, ok := s.Hear()
		if !ok {
			return 0
		}
		if i >= echoTimes {
			c.heard <- true
			if !<-c.release {
				continue
			}
		}
		s.Packet(packetStdout, b)
	}
}

// openSlow opens a driver whose echoes are held back.
func openSlow(t *testing.T, way string) (*adbtest.Phone, slow, *Driver) {
	t.Helper()
	a, c := adbtest.NewPhone(nil), slow{make(chan bool, 1), make(chan bool, 1)}
	var shells []adbtest.Command
	for _, s := range a.Shells(way) {
		if s.Name == "cat" {
			s.Run = c.run
		}
		shells = append(shells, s)
	}
	d, err := Open(t.Context(), Options{Server: server(adbtest.New(t, "A\tdevice\n", shells...)), Way: way})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = d.Close() }) // a test that closes it looks at the error
	return a, c, d
}

// TestEchoEndsTheInterval: a way that becomes slower after Open is inside the interval.
func TestEchoEndsTheInterval(t *testing.T) {
	for _, way := range []string{"uinput", "evdev"} {
		t.Run(way, func(t *testing.T) {
			_, c, d := openSlow(t, way)
			var released timeline.Time
			go func() {
				<-c.heard
				released = timeline.Monotonic().Now()
				c.release <- true
			}()
			sent, err := d.Do(t.Context(), 0, input.TouchDown{X: 1, Y: 1})
			if err != nil {
				t.Fatal(err)
			}
			if released == 0 || sent.Earliest > released || sent.Latest < released.Add(d.there) {
				t.Errorf("%v, and the device answered after %v, %v to it and back", sent, released, d.there)
			}
		})
	}
}

// TestEchoLost: an action whose echo does not come back has an error, and what it pressed is lifted
// nevertheless. A late echo is not taken for the next.
func TestEchoLost(t *testing.T) {
	a, c, d := openSlow(t, "uinput")
	reason := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	go func() {
		<-c.heard
		cancel(reason)
	}()
	if _, err := d.Do(ctx, 0, input.TouchDown{X: 1, Y: 1}); !errors.Is(err, reason) {
		t.Error(err)
	}
	c.release <- true // too late
	d.echo.patience = time.Millisecond
	_, err := d.Do(t.Context(), 0, input.KeyDown{Key: "F5"})
	if !errors.Is(err, input.ErrGone) {
		t.Error(err)
	}
	<-c.heard
	c.release <- false
	if err := d.Close(); err != nil {
		t.Error(err)
	}
	<-a.Bye()
	all := strings.Join(a.Lines(), "")
	for _, lifted := range []string{"3,47,0,3,57,-1", "1,63,0"} {
		if strings.Count(all, lifted) != 1 {
			t.Errorf("%s is not among\n%s", lifted, all)
		}
	}
}

// TestRefusedHoldsNothing: what cannot be done is not lifted.
func TestRefusedHoldsNothing(t *testing.T) {
	_, _, d := openFake(t, Options{}, "uinput")
	if _, err := d.Do(t.Context(), 0, input.KeyDown{Key: "A"}); err == nil {
		t.Error("pressed")
	}
	if lift := d.held.Lift(); len(lift) != 0 {
		t.Errorf("%v", lift)
	}
}

// TestCancelledCommand: the command input is left while it puts a finger down, which is lifted.
func TestCancelledCommand(t *testing.T) {
	begun, up := make(chan bool), make(chan bool, 1)
	shells := append([]adbtest.Command{
		{Name: "input touchscreen motionevent DOWN", Run: func(s *adbtest.Session) byte {
			close(begun)
			s.Hear()
			return 0
		}},
		{Name: "input touchscreen motionevent UP 3 4", Run: func(*adbtest.Session) byte { up <- true; return 0 }},
	}, adbtest.NewPhone(nil).Shells("input")...)
	d, err := Open(t.Context(), Options{Server: server(adbtest.New(t, "A\tdevice\n", shells...)), Way: "input"})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-begun
		cancel()
	}()
	if _, err := d.Do(ctx, 0, input.TouchDown{X: 3, Y: 4}, input.TouchMove{X: 3, Y: 4}); !errors.Is(err,
		context.Canceled) {
		t.Error(err)
	}
	if err := d.Close(); err != nil {
		t.Error(err)
	}
	select {
	case <-up:
	default:
		t.Error("the finger stays down")
	}
}

// TestCutPacket: a connection that takes nothing is left when the context ends, and packets stay
// whole.
func TestCutPacket(t *testing.T) {
	ours, theirs := net.Pipe()
	t.Cleanup(func() { _, _ = ours.Close(), theirs.Close() })
	s := &shell{c: &conn{Conn: ours, stop: func() bool { return true }}, ctx: t.Context()}
	reason := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	head := make([]byte, 3)
	go func() {
		if _, err := io.ReadFull(theirs, head); err != nil {
			t.Error(err)
		}
		cancel(reason)
	}()
	if err := s.write(ctx, []byte("first")); !errors.Is(err, reason) {
		t.Error(err)
	}
	rest := make(chan []byte)
	go func() {
		b := make([]byte, 2+len("first")+5+len("second"))
		if _, err := io.ReadFull(theirs, b); err != nil {
			t.Error(err)
		}
		rest <- b
	}()
	if err := s.write(t.Context(), []byte("second")); err != nil {
		t.Error(err)
	}
	var want []byte
	for _, p := range []string{"first", "second"} {
		want = append(binary.LittleEndian.AppendUint32(append(want, packetStdin), uint32(len(p))), p...)
	}
	if got := append(head, <-rest...); !bytes.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	if err := s.write(t.Context(), []byte("third")); !errors.Is(err, input.ErrGone) ||
		!errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("nobody reads: %v", err)
	}
}

// TestKept: of fingers that were not told to the end, those that were down or came down can be
// lifted.
func TestKept(t *testing.T) {
	f := fingers{to: func(x, y float64) (int32, int32) { return int32(x), int32(y) }}
	if _, err := f.report([]input.Action{input.TouchDown{Finger: 1}}); err != nil {
		t.Fatal(err)
	}
	before, actions := f.down, []input.Action{input.TouchUp{Finger: 1}, input.TouchDown{Finger: 2},
		input.TouchUp{Finger: 2}}
	if _, err := f.report(actions); err != nil {
		t.Fatal(err)
	}
	f.keep(before, actions)
	if _, err := f.report([]input.Action{input.TouchUp{Finger: 1}, input.TouchUp{Finger: 2}}); err != nil {
		t.Error(err)
	}
}
