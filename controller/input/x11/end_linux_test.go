package x11

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/jezek/xgb/res"
	"github.com/jezek/xgb/xproto"

	"github.com/eideticker/eideticker/capture/timeline"
	"github.com/eideticker/eideticker/controller/input"
)

// down returns which keys and buttons the server holds down.
func down(t testing.TB, c *connection) string {
	t.Helper()
	keys, err := xproto.QueryKeymap(c.Conn).Reply()
	if err != nil {
		t.Fatal(err)
	}
	p, err := xproto.QueryPointer(c.Conn, c.root).Reply()
	if err != nil {
		t.Fatal(err)
	}
	var s []string
	for code := range 256 {
		if keys.Keys[code/8]>>(code%8)&1 != 0 {
			s = append(s, fmt.Sprint(code))
		}
	}
	return fmt.Sprintf("keys %v, mask %#x", s, p.Mask)
}

const nothingDown = "keys [], mask 0x0"

// holdSome presses something of each kind, one of them a lent key.
func holdSome(t testing.TB, d *Driver) {
	t.Helper()
	do(t, d, input.KeyDown{Key: "ShiftLeft"}, input.KeyDown{Key: "A"}, input.KeyDown{Key: "日"},
		input.ButtonDown{Button: input.Left}, input.Text{Text: "本語"})
}

func TestRelease(t *testing.T) {
	display := startDisplay(t).Name()
	d, c := openDriver(t, display), startClient(t, display, true, false)
	holdSome(t, d)
	if down(t, c.connection) == nothingDown {
		t.Fatal("nothing is held")
	}
	if err := d.Release(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := down(t, c.connection); got != nothingDown {
		t.Errorf("after Release: %s", got)
	}
	holdSome(t, d)
	for range 2 {
		if err := d.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if got := down(t, c.connection); got != nothingDown {
		t.Errorf("after Close: %s", got)
	}
	if _, err := d.Do(t.Context(), 0, input.Move{}); !errors.Is(err, os.ErrClosed) {
		t.Errorf("after Close: %v", err)
	}
}

// TestCutOff: the server keeps what a client held that it cut off. Close sees to it all the same.
func TestCutOff(t *testing.T) {
	display := startDisplay(t).Name()
	before := mapping(t, display)
	d, c := openDriver(t, display), startClient(t, display, true, false)
	holdSome(t, d)
	if err := xproto.KillClientChecked(c.Conn, uint32(d.window)).Check(); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if _, err := d.Do(t.Context(), 0, input.KeyDown{Key: "b"}); !errors.Is(err, input.ErrGone) {
			t.Errorf("after the end of the connection: %v", err)
		}
	}
	if err := d.Release(t.Context()); !errors.Is(err, input.ErrGone) {
		t.Errorf("Release: %v", err)
	}
	if down(t, c.connection) == nothingDown || mapping(t, display) == before {
		t.Error("the server has cleaned up by itself")
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	if got := down(t, c.connection); got != nothingDown {
		t.Errorf("after Close: %s", got)
	}
	if mapping(t, display) != before {
		t.Error("the mapping is not what it was")
	}
}

// TestComingAndGoingIsSilent: a window sees nothing of a driver that does nothing.
func TestComingAndGoingIsSilent(t *testing.T) {
	display := startDisplay(t).Name()
	c := startClient(t, display, true, false)
	d := openDriver(t, display)
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	if all := c.all(); len(all) != 0 {
		t.Errorf("it sees %s", story(all))
	}
}

// TestCrash: what drivers leave that end without a word does not pile up, and the next one cleans
// up.
func TestCrash(t *testing.T) {
	display := startDisplay(t).Name()
	before := mapping(t, display)
	c := startClient(t, display, true, false)
	for range 5 {
		d, err := Open(display)
		if err != nil {
			t.Fatal(err)
		}
		if got := down(t, c.connection); got != nothingDown {
			t.Fatalf("held from the time before: %s", got)
		}
		if mapping(t, display) != before {
			t.Fatal("the mapping is not what it was before the crash")
		}
		holdSome(t, d)
		d.xkb.abandon()
		d.abandon()
	}
	openDriver(t, display)
	if down(t, c.connection) != nothingDown || mapping(t, display) != before {
		t.Errorf("%s, and the mapping is not what it was", down(t, c.connection))
	}
}

// TestForeignMapping: a key that means something else by now is nobody's to take back.
func TestForeignMapping(t *testing.T) {
	display := startDisplay(t).Name()
	d, c := openDriver(t, display), startClient(t, display, true, false)
	do(t, d, input.Text{Text: "日"})
	code, ok := d.codeFor(symOf('日'))
	if !ok {
		t.Fatal("no key was lent")
	}
	if err := xproto.ChangeKeyboardMappingChecked(c.Conn, 1, xproto.Keycode(code), 1,
		[]xproto.Keysym{'x'}).Check(); err != nil {
		t.Fatal(err)
	}
	do(t, d, input.Text{Text: "日"})
	if got := typed(c.all()); got != "日日" {
		t.Errorf("typed %q", got)
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	if after := mapping(t, display); !strings.Contains(after, fmt.Sprintf("\n%d [78", code)) {
		t.Errorf("key %d was taken back:\n%s", code, after)
	}
}

func TestDisplayEnds(t *testing.T) {
	display := startDisplay(t)
	d := openDriver(t, display.Name())
	holdSome(t, d)
	_ = display.Close()
	if _, err := d.Do(t.Context(), 0, input.Move{}); !errors.Is(err, input.ErrGone) {
		t.Errorf("the display has ended: %v", err)
	}
	if err := d.Close(); err != nil {
		t.Error(err)
	}
	if _, err := Open(display.Name()); err == nil || !strings.Contains(err.Error(), "no X server answers") {
		t.Errorf("no display: %v", err)
	}
}

// TestOneDriver: the second one gets an error, and can have the display after the first.
func TestOneDriver(t *testing.T) {
	display := startDisplay(t).Name()
	d := openDriver(t, display)
	if _, err := Open(display); err == nil || !strings.Contains(err.Error(), "another driver") {
		t.Errorf("a second driver: %v", err)
	}
	do(t, d, input.KeyDown{Key: "a"})
	waits := make(chan error)
	go func() {
		second, err := Open(display)
		if err == nil {
			err = second.Close()
		}
		waits <- err
	}()
	if err := d.Close(); err != nil {
		t.Error(err)
	}
	if err := <-waits; err != nil {
		t.Errorf("after the first has ended: %v", err)
	}
}

// TestContextEnds: waiting ends with its context, and nothing is done.
func TestContextEnds(t *testing.T) {
	display := startDisplay(t).Name()
	d, c := openDriver(t, display), startClient(t, display, true, false)
	ctx, cancel := context.WithCancelCause(t.Context())
	time.AfterFunc(20*time.Millisecond, func() { cancel(nil) })
	if _, err := d.Do(ctx, timeline.Monotonic().Now().Add(time.Hour), input.Text{Text: "a"}); !errors.Is(err,
		context.Canceled) {
		t.Errorf("error %v", err)
	}
	if all := c.all(); len(all) != 0 {
		t.Errorf("done: %s", story(all))
	}
}

// TestServerIsGrabbed: a window manager that holds up all other clients does not hold up input.
func TestServerIsGrabbed(t *testing.T) {
	display := startDisplay(t).Name()
	d, c := openDriver(t, display), startClient(t, display, true, false)
	if err := xproto.GrabServerChecked(c.Conn).Check(); err != nil {
		t.Fatal(err)
	}
	do(t, d, input.Move{X: 7, Y: 8})
	xproto.UngrabServer(c.Conn)
	if got := story(c.all()); got != "7,8" {
		t.Error(got)
	}
}

// TestNothingIsLeft: drivers come and go without a trace.
func TestNothingIsLeft(t *testing.T) {
	display := startDisplay(t).Name()
	before := mapping(t, display)
	c := startClient(t, display, true, false)
	if err := res.Init(c.Conn); err != nil {
		t.Fatal(err)
	}
	count := func() string {
		t.Helper()
		clients, err := res.QueryClients(c.Conn).Reply()
		if err != nil {
			t.Fatal(err)
		}
		tree, err := xproto.QueryTree(c.Conn, c.root).Reply()
		if err != nil {
			t.Fatal(err)
		}
		p, err := xproto.ListProperties(c.Conn, c.root).Reply()
		if err != nil {
			t.Fatal(err)
		}
		files, err := os.ReadDir("/proc/self/fd")
		if err != nil {
			t.Fatal(err)
		}
		return fmt.Sprintf("%d clients, %d windows, %d properties, %d files", clients.NumClients, tree.ChildrenLen,
			p.AtomsLen, len(files))
	}
	was, goroutines := count(), runtime.NumGoroutine()
	for range 100 {
		d, err := Open(display)
		if err != nil {
			t.Fatal(err)
		}
		do(t, d, input.Text{Text: "日a"}, input.KeyDown{Key: "本"}, input.ButtonDown{Button: input.Left})
		if err := d.Close(); err != nil {
			t.Fatal(err)
		}
	}
	// The server and the runtime take the ends of connections in their own time.
	for until := time.Now().Add(2 * time.Minute); ; time.Sleep(10 * time.Millisecond) {
		is, n := count(), runtime.NumGoroutine()
		if is == was && n <= goroutines {
			break
		}
		if time.Now().After(until) {
			t.Fatalf("there were %s, %d goroutines, and are %s, %d", was, goroutines, is, n)
		}
	}
	if mapping(t, display) != before {
		t.Error("the mapping is not what it was")
	}
}

// TestRandomText types what nobody would, and reads it back.
func TestRandomText(t *testing.T) {
	display := startDisplay(t).Name()
	before := mapping(t, display)
	d, c := openDriver(t, display), startClient(t, display, true, false)
	random := rand.New(rand.NewPCG(5, 11))
	for range 40 {
		var b strings.Builder
		for range random.IntN(60) {
			var r rune
			switch random.IntN(4) {
			case 0:
				r = 0x20 + rune(random.IntN(0x5f))
			case 1:
				r = 0xa0 + rune(random.IntN(0x2000))
			case 2:
				r = 0x3000 + rune(random.IntN(0xa800))
			case 3:
				r = 0x10000 + rune(random.IntN(0x20000))
			}
			b.WriteRune(r)
		}
		if b.Len() == 0 {
			continue
		}
		do(t, d, input.Text{Text: b.String()})
		if got := typed(c.all()); got != b.String() {
			t.Fatalf("typed %q\nwant  %q", got, b.String())
		}
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	if mapping(t, display) != before {
		t.Error("the mapping is not what it was")
	}
}

// FuzzText holds any text against the promise: it is typed as it is, or refused as a whole.
func FuzzText(f *testing.F) {
	for _, s := range []string{ascii, sample, "", "\x00", "\r\n\n\r", "\xff", "a\u0301\u200d\ufe0f", "\U0010ffff\ufffe",
		strings.Repeat("語", 99)} {
		f.Add(s)
	}
	display := startDisplay(f).Name()
	before := mapping(f, display)
	c := startClient(f, display, true, false)
	lines := strings.NewReplacer("\r\n", "\n", "\r", "\n")
	f.Fuzz(func(t *testing.T, text string) {
		c.t = t
		d := openDriver(t, display)
		want := lines.Replace(text)
		if _, err := d.Do(t.Context(), 0, input.Text{Text: text}); err != nil {
			want = ""
		}
		if got := typed(c.all()); got != want {
			t.Errorf("typed %q, want %q", got, want)
		}
		if err := d.Close(); err != nil {
			t.Fatal(err)
		}
		if mapping(t, display) != before {
			t.Error("the mapping is not what it was")
		}
	})
}
