package adb

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/eideticker/eideticker/capture/timeline"
	"github.com/eideticker/eideticker/controller/input"
	"github.com/eideticker/eideticker/controller/input/adb/adbtest"
)

// canned is a connection whose other side has said all it will.
type canned struct {
	net.Conn
	sent bytes.Buffer
}

func (c *canned) Write(b []byte) (int, error) { return c.sent.Write(b) }
func (c *canned) Close() error                { return nil }

// TestWire holds requests and answers against bytes between real programs (adb 1.0.41).
func TestWire(t *testing.T) {
	for _, tc := range []struct {
		name, request, sent, answer string
		text                        string
		err                         string
	}{
		{"version", "host:version", "000chost:version", "OKAY00040029", "0029", ""},
		{"no such device", "host:tport:serial:GBG5T197110027690014", "0026host:tport:serial:GBG5T197110027690014",
			"FAIL0027device 'GBG5T197110027690014' not found", "", "adb: device 'GBG5T197110027690014' not found"},
		{"two devices", "host:transport-any", "0012host:transport-any", "FAIL001dmore than one device/emulator", "",
			"name one, as adb:SERIAL"},
		{"not trusted", "host:transport:X", "0010host:transport:X",
			"FAIL0059device unauthorized.\nThis adb server's $ADB_VENDOR_KEYS is not set\nTry 'adb kill-server' x", "",
			"allow debugging"},
		{"another program", "host:version", "000chost:version", "HTTP/1.1 400 Bad Request", "",
			"not an answer of an adb server"},
		{"cut off", "host:version", "000chost:version", "OK", "", "no answer to"},
		{"no length", "host:devices", "000chost:devices", "OKAYzzzz", "", "invalid length"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			other := &canned{}
			c := &conn{Conn: other, r: bufio.NewReader(strings.NewReader(tc.answer)), stop: func() bool { return true }}
			err := c.ask(tc.request)
			var text string
			if err == nil {
				text, err = c.text()
			}
			if other.sent.String() != tc.sent || text != tc.text {
				t.Errorf("sent %q, heard %q", &other.sent, text)
			}
			if tc.err == "" && err != nil || tc.err != "" && (err == nil || !strings.Contains(err.Error(), tc.err)) {
				t.Errorf("%v, want %q", err, tc.err)
			}
		})
	}
}

func TestChoosesADevice(t *testing.T) {
	for _, tc := range []struct{ attached, serial, want, err string }{
		{"emulator-5554\tdevice\n", "", "emulator-5554", ""},
		{"A\tdevice\nB\tdevice\n", "B", "B", ""},
		{"A\tdevice\nB\tdevice\n", "", "", "of A, B"},
		{"A\tdevice\nB\tunauthorized\n", "", "A", ""},
		{"B\tunauthorized\n", "", "", "allow debugging"},
		{"B\toffline\n", "B", "", "offline"},
		{"", "", "", "known: none"},
		{"A\tdevice\n", "C", "", `no device "C" is attached; known: A (device)`},
	} {
		f := adbtest.New(t, tc.attached)
		d, err := server(f).Find(t.Context(), tc.serial)
		if tc.err != "" {
			if err == nil || !strings.Contains(err.Error(), tc.err) {
				t.Errorf("%q, %q: %v, want %s", tc.attached, tc.serial, err, tc.err)
			}
			continue
		}
		if err != nil || d.Serial != tc.want {
			t.Errorf("%q, %q: %+v, %v", tc.attached, tc.serial, d, err)
		}
	}
}

func TestNoServer(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_ = l.Close()
	if _, err := (Server{Address: l.Addr().String()}).Devices(t.Context()); err == nil ||
		!strings.Contains(err.Error(), "adb start-server") {
		t.Error(err)
	}
}

func TestRun(t *testing.T) {
	f := adbtest.New(t, "A\tdevice\n",
		adbtest.Command{Name: "echo", Run: adbtest.Say("hello\n")},
		adbtest.Command{Name: "fail", Run: func(s *adbtest.Session) byte {
			s.Packet(packetStderr, []byte("it is broken\n"))
			return 3
		}},
		adbtest.Command{Name: "flood", Run: func(s *adbtest.Session) byte {
			for range 40 {
				s.Packet(packetStdout, make([]byte, 100_000))
			}
			return 0
		}},
		adbtest.Command{Name: "huge", Run: func(s *adbtest.Session) byte {
			s.Write([]byte{packetStdout, 0xff, 0xff, 0xff, 0xff})
			return 0
		}})
	d, err := server(f).Find(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	if said, err := d.Run(t.Context(), "echo hello"); err != nil || said != "hello\n" {
		t.Errorf("%q, %v", said, err)
	}
	var failed *exitError
	if _, err := d.Run(t.Context(), "fail"); !errors.As(err, &failed) || failed.Code != 3 ||
		!strings.Contains(err.Error(), "it is broken") {
		t.Error(err)
	}
	if said, err := d.Run(t.Context(), "flood"); err != nil || len(said) != maxSaid {
		t.Errorf("%d bytes are kept: %v", len(said), err)
	}
	if _, err := d.Run(t.Context(), "huge"); err == nil || !strings.Contains(err.Error(), "4294967295 bytes") {
		t.Error(err)
	}
	f.Unplug()
	if _, err := d.Run(t.Context(), "echo"); !errors.Is(err, input.ErrGone) {
		t.Errorf("a device that is gone: %v", err)
	}
}

// TestSlowShell: a command that never ends is left when the context ends. The error is the
// context's cause.
func TestSlowShell(t *testing.T) {
	begun := make(chan bool)
	f := adbtest.New(t, "A\tdevice\n", adbtest.Command{Name: "sleep", Run: func(s *adbtest.Session) byte {
		close(begun)
		s.Hear()
		return 0
	}})
	d, err := server(f).Find(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	reason := errors.New("enough")
	go func() {
		<-begun
		cancel(reason)
	}()
	if _, err := d.Run(ctx, "sleep 1000"); !errors.Is(err, reason) {
		t.Error(err)
	}
}

// TestSilence: a server, device or command that accepts a request and then is silent does not block
// for ever. The error names the request.
//
// Fault: A device, its agent or its adb server stops answering
func TestSilence(t *testing.T) {
	deaf := adbtest.New(t, "A\tdevice\n", adbtest.Command{Name: "", Run: func(s *adbtest.Session) byte {
		s.Hear()
		return 0
	}})
	silent, err := net.Listen("tcp", "127.0.0.1:0") // the system accepts for it
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	const patience = 50 * time.Millisecond
	nobody := Server{silent.Addr().String(), patience}
	command := &Device{"A", Server{deaf.Address(), patience}}
	device := &Device{"A", nobody}
	for name, tc := range map[string]struct {
		ask  func() error
		want string
	}{
		"devices": {func() error {
			_, err := nobody.Devices(t.Context())
			return err
		}, "the adb server at " + nobody.Address + " did not answer within 50ms when asked for \"host:devices\""},
		"find": {func() error { _, err := nobody.Find(t.Context(), "A"); return err }, "the adb server at "},
		"open": {func() error {
			_, err := Open(t.Context(), Options{Server: nobody})
			return err
		}, "the adb server at "},
		"shell": {func() error {
			_, err := device.Run(t.Context(), "getprop a")
			return err
		}, "device A did not answer within 50ms when asked for \"getprop a\""},
		"command": {func() error {
			_, err := command.Run(t.Context(), "getprop a")
			return err
		}, "device A did not answer within 50ms when asked for \"getprop a\""},
		"screen size": {func() error {
			_, _, err := command.screenSize(t.Context())
			return err
		}, "asked for \"wm size\""},
		"echo": {func() error { _, err := openEcho(t.Context(), device); return err }, "asked for \"cat\""},
		"reverse": {func() error {
			_, err := device.Reverse(t.Context(), 80)
			return err
		}, "asked for \"reverse:forward:norebind:tcp:80;tcp:80\""},
		"touch screen": {func() error {
			_, err := openEvdev(t.Context(), command, size{1, 1})
			return err
		}, "asked for \"getevent -p\""},
	} {
		if err := tc.ask(); !errors.Is(err, input.ErrGone) || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v, want %s", name, err, tc.want)
		}
	}
}

// overdue is a context whose deadline is past, and whose timer fires later.
type overdue struct{ context.Context }

func (overdue) Deadline() (time.Time, bool) { return time.Now(), true }

// TestOverdueDial: a dial may time out a moment before its context does. Its error is the context's
// reason all the same.
func TestOverdueDial(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(time.Millisecond, func() { cancel(input.ErrGone) })
		if err := ended(overdue{ctx}, os.ErrDeadlineExceeded); !errors.Is(err, input.ErrGone) {
			t.Error(err)
		}
		if err := ended(t.Context(), io.EOF); err != io.EOF {
			t.Error(err)
		}
	})
}

func server(f *adbtest.Server) Server { return Server{Address: f.Address()} }

func openFake(t *testing.T, o Options, has ...string) (*adbtest.Phone, *adbtest.Server, *Driver) {
	t.Helper()
	a := adbtest.NewPhone(nil)
	f := adbtest.New(t, "A\tdevice\n", a.Shells(has...)...)
	o.Server = server(f)
	d, err := Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	})
	return a, f, d
}

func do(t *testing.T, d *Driver, actions ...input.Action) timeline.Interval {
	t.Helper()
	before := timeline.Monotonic().Now()
	sent, err := d.Do(t.Context(), 0, actions...)
	if err != nil {
		t.Fatalf("%v: %v", actions, err)
	}
	if sent.Earliest < before || sent.Latest < sent.Earliest || sent.Width() < d.there {
		t.Errorf("%v was sent in %v, after %v, with %v to the device and back", actions, sent, before, d.there)
	}
	return sent
}

// TestUinput: a touch screen and a keyboard are registered and get the actions. After Close the
// command has ended.
func TestUinput(t *testing.T) {
	a, _, d := openFake(t, Options{}, "uinput", "input", "evdev")
	if i := d.Info(); i.Driver != "adb-uinput" || i.Device != "A" || i.Note != "" || i.Latency <= 0 {
		t.Errorf("%+v", i)
	}
	do(t, d, input.TouchDown{Finger: 0, X: 10, Y: 20}, input.TouchDown{Finger: 9, X: 539.5, Y: 9999})
	do(t, d, input.TouchMove{Finger: 9, X: 30, Y: 40})
	do(t, d, input.TouchUp{Finger: 0})
	do(t, d, input.KeyDown{Key: "F5"})
	do(t, d, input.Text{Text: "A"})
	if _, err := d.Do(t.Context(), 0, input.Text{Text: "日"}); !errors.Is(err, errors.ErrUnsupported) {
		t.Error(err)
	}
	if _, err := d.Do(t.Context(), 0, input.TouchDown{Finger: 9}); !errors.Is(err, errFinger) {
		t.Error(err)
	}
	if _, err := d.Do(t.Context(), 0, input.Wheel{Y: 1}); !errors.Is(err, errors.ErrUnsupported) {
		t.Error(err)
	}
	if err := d.Close(); err != nil { // lifts finger 9 and F5
		t.Error(err)
	}
	<-a.Bye()
	var injected []string
	for i, line := range a.Lines() {
		if i < 2 {
			var r uinputRegister
			if err := json.Unmarshal([]byte(line), &r); err != nil || r.Command != "register" || r.ID != i+1 {
				t.Errorf("%s: %v", line, err)
			}
			continue
		}
		injected = append(injected, strings.TrimSpace(line))
	}
	want := []string{
		`{"id":1,"command":"inject","events":[` +
			`3,47,0,3,57,0,3,53,10,3,54,20,3,47,9,3,57,1,3,53,539,3,54,1199,1,330,1,0,0,0]}`,
		`{"id":1,"command":"inject","events":[3,47,9,3,53,30,3,54,40,0,0,0]}`,
		`{"id":1,"command":"inject","events":[3,47,0,3,57,-1,0,0,0]}`,
		`{"id":2,"command":"inject","events":[1,63,1,0,0,0]}`,
		`{"id":2,"command":"inject","events":[1,42,1,0,0,0,1,30,1,0,0,0,1,30,0,0,0,0,1,42,0,0,0,0]}`,
		`{"id":1,"command":"inject","events":[3,47,9,3,57,-1,1,330,0,0,0,0]}`,
		`{"id":2,"command":"inject","events":[1,63,0,0,0,0]}`,
	}
	if !slices.Equal(injected, want) {
		t.Errorf("%s\nwant\n%s", strings.Join(injected, "\n"), strings.Join(want, "\n"))
	}
}

// TestEvdev: without uinput, events go to the touch screen's device file, scaled from pixels to its
// own units.
func TestEvdev(t *testing.T) {
	a, f, d := openFake(t, Options{}, "evdev", "input")
	if i := d.Info(); i.Driver != "adb-evdev" || !strings.Contains(i.Note, "uinput: the device has no such command") {
		t.Errorf("%+v", i)
	}
	do(t, d, input.TouchDown{X: 270, Y: 600})
	do(t, d, input.TouchUp{})
	do(t, d, input.KeyDown{Key: "Enter"})
	if err := d.Close(); err != nil {
		t.Error(err)
	}
	<-a.Bye()
	got := written(a)[2*input.MaxFingers+2:] // after what Open lifts
	want := "3.47=0 3.57=0 3.53=540 3.54=1200 1.330=1 0.0=0 3.47=0 3.57=-1 1.330=0 0.0=0"
	if s := strings.Join(got, " "); s != want || len(a.Raw())%24 != 0 {
		t.Errorf("%s, %d bytes, want %s", s, len(a.Raw()), want)
	}
	if !slices.Contains(f.Commands(), "shell,v2,raw:input keyevent 66") {
		t.Errorf("Enter was not pressed: %q", f.Commands())
	}
}

// written are the events that the touch screen's device file got.
func written(a *adbtest.Phone) (got []string) {
	for b := a.Raw(); len(b) >= 24; b = b[24:] {
		got = append(got, fmt.Sprintf("%d.%d=%d", b[16], uint(b[18])|uint(b[19])<<8,
			int32(uint32(b[20])|uint32(b[21])<<8|uint32(b[22])<<16|uint32(b[23])<<24)))
	}
	return got
}

// TestFingersOfALostDevice: fingers that were down when a device was lost are lifted before the
// device is used again.
func TestFingersOfALostDevice(t *testing.T) {
	t.Run("evdev", func(t *testing.T) {
		a, f, d := openFake(t, Options{Way: "evdev"}, "evdev", "input")
		do(t, d, input.TouchDown{X: 1, Y: 1}, input.TouchDown{Finger: input.MaxFingers - 1, X: 2, Y: 2})
		for len(touching(written(a))) < 2 { // the echo does not say that the glass has heard all
			runtime.Gosched()
		}
		f.Unplug()
		<-a.Bye()
		if err := d.Close(); err != nil {
			t.Error(err)
		}
		lost := len(written(a))
		f.Plug("A\tdevice\n")
		again, err := Open(t.Context(), Options{Server: server(f), Way: "evdev"})
		if err != nil {
			t.Fatal(err)
		}
		do(t, again, input.TouchDown{X: 3, Y: 3})
		if err := again.Close(); err != nil {
			t.Error(err)
		}
		<-a.Bye()
		all := written(a)
		first := slices.Index(all[lost:], "0.0=0") // the end of the first report
		if first < 0 || len(touching(all[:lost+first+1])) != 0 || !slices.Contains(all[lost:lost+first], "1.330=0") {
			t.Errorf("after the device was lost it was told %v", all[lost:])
		}
	})
	t.Run("input", func(t *testing.T) {
		_, f, d := openFake(t, Options{Way: "input"}, "input")
		do(t, d, input.TouchDown{X: 1, Y: 1})
		f.Unplug()
		if err := d.Close(); err != nil {
			t.Error(err)
		}
		lost := len(f.Commands())
		f.Plug("A\tdevice\n")
		again, err := Open(t.Context(), Options{Server: server(f), Way: "input"})
		if err != nil {
			t.Fatal(err)
		}
		do(t, again, input.TouchDown{X: 3, Y: 3})
		if err := again.Close(); err != nil {
			t.Error(err)
		}
		var touches []string
		for _, c := range f.Commands()[lost:] {
			if c, ok := strings.CutPrefix(c, "shell,v2,raw:input touchscreen motionevent "); ok {
				touches = append(touches, c)
			}
		}
		if want := []string{"CANCEL 0 0", "DOWN 3 3", "UP 3 3"}; !slices.Equal(touches, want) {
			t.Errorf("%q, want %q", touches, want)
		}
	})
}

// touching are the slots that events leave down, as the kernel counts them.
func touching(events []string) map[int]bool {
	down, slot := map[int]bool{}, 0
	for _, e := range events {
		var value int
		if n, _ := fmt.Sscanf(e, "3.47=%d", &value); n == 1 {
			slot = value
		} else if n, _ := fmt.Sscanf(e, "3.57=%d", &value); n == 1 && value >= 0 {
			down[slot] = true
		} else if n == 1 {
			delete(down, slot)
		}
	}
	return down
}

func TestInputCommand(t *testing.T) {
	_, f, d := openFake(t, Options{Way: "input"}, "uinput", "input")
	if i := d.Info(); i.Driver != "adb-input" || i.Latency != 0 {
		t.Errorf("%+v", i)
	}
	do(t, d, input.TouchDown{X: 3, Y: 4})
	do(t, d, input.TouchMove{X: 5.7, Y: 6})
	do(t, d, input.TouchUp{})
	do(t, d, input.Text{Text: "it's a b\nc"})
	for _, bad := range []input.Action{input.TouchDown{Finger: 1}, input.TouchUp{}, input.KeyDown{Key: "ShiftLeft"},
		input.KeyDown{Key: "A"}, input.Text{Text: "é"}, input.Text{Text: "%s"}} {
		if _, err := d.Do(t.Context(), 0, bad); err == nil {
			t.Errorf("%v was done", bad)
		}
	}
	var said []string
	for _, c := range f.Commands() {
		if c, ok := strings.CutPrefix(c, "shell,v2,raw:input "); ok {
			said = append(said, c)
		}
	}
	want := []string{
		"touchscreen motionevent CANCEL 0 0", "touchscreen motionevent DOWN 3 4", "touchscreen motionevent MOVE 5 6",
		"touchscreen motionevent UP 5 6",
		`text 'it'\''s%sa%sb' && input keyevent 66 && input text 'c'`,
	}
	if !slices.Equal(said, want) {
		t.Errorf("%q, want %q", said, want)
	}
}

// TestLostInTheMiddle: the device is unplugged while a finger is down. That is said, and Close says
// nothing more.
//
// Fault: The device disconnects in the middle of a touch
func TestLostInTheMiddle(t *testing.T) {
	a, f, d := openFake(t, Options{}, "uinput")
	do(t, d, input.TouchDown{X: 1, Y: 1})
	f.Unplug()
	<-a.Bye()
	<-d.way.(*uinput).ended
	_, err := d.Do(t.Context(), 0, input.TouchMove{X: 2, Y: 2})
	if !errors.Is(err, input.ErrGone) {
		t.Errorf("%v", err)
	}
	if err := d.Close(); err != nil {
		t.Error(err)
	}
	if _, err := d.Do(t.Context(), 0, input.TouchUp{}); err == nil {
		t.Error("a closed driver does something")
	}
}

func TestNoWay(t *testing.T) {
	for has, want := range map[string]string{"": "uinput: the device has no such command",
		"touch": "evdev: /dev/input/event2 may not be written to"} {
		f := adbtest.New(t, "A\tdevice\n", adbtest.NewPhone(nil).Shells(has)...)
		if _, err := Open(t.Context(), Options{Server: server(f)}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
		if _, err := Open(t.Context(), Options{Server: server(f), Way: "magic"}); err == nil ||
			!strings.Contains(err.Error(), "magic") {
			t.Error(err)
		}
	}
}

func FuzzFindPanel(f *testing.F) {
	f.Add(adbtest.Getevent)
	f.Add("add device 1: /dev/input/event0\n 0035  : value 0, min 0, max 9\n 0036 : value 0, min 0, max 999999999")
	f.Fuzz(func(t *testing.T, said string) {
		p, err := findPanel(said)
		if err == nil && (p.maxX <= 0 || p.maxY <= 0 || !strings.HasPrefix(p.path, "/dev/input/event") ||
			strings.ContainsAny(p.path, " ;&|'\n")) {
			t.Errorf("%+v", p)
		}
	})
}

// FuzzShell: whatever a device sends, reading ends.
func FuzzShell(f *testing.F) {
	f.Add([]byte("OKAYOKAY\x01\x02\x00\x00\x00hi\x03\x01\x00\x00\x00\x00"))
	f.Add([]byte("OKAYOKAY\x01\xff\xff\xff\xff"))
	f.Fuzz(func(t *testing.T, b []byte) {
		c := &conn{Conn: &canned{}, r: bufio.NewReader(bytes.NewReader(b)), stop: func() bool { return true }}
		s := &shell{c: c, ctx: t.Context()}
		for range 2 {
			if c.ask("x") != nil {
				return
			}
		}
		for {
			_, data, err := s.read()
			if err != nil {
				if errors.Is(err, io.EOF) != errors.Is(err, input.ErrGone) && !errors.Is(err, io.ErrUnexpectedEOF) {
					t.Log(err)
				}
				return
			}
			if len(data) > len(b) {
				t.Fatal("more was read than there is")
			}
		}
	})
}
