package touch

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/eideticker/eideticker/controller/input"
)

// pan is one finger, and a second one from the third report on, of a phone; another device speaks
// in between.
const pan = `add device 1: /dev/input/event1
  name:     "gpio-keys"
add device 2: /dev/input/event2
  name:     "fts_ts"
  events:
    ABS (0003): ABS_MT_SLOT           : value 0, min 0, max 9, fuzz 0, flat 0, resolution 0
                ABS_MT_POSITION_X     : value 0, min 0, max 1079, fuzz 0, flat 0, resolution 0
                ABS_MT_POSITION_Y     : value 0, min 0, max 2399, fuzz 0, flat 0, resolution 0
# a comment
[   12345.000000] /dev/input/event2: EV_ABS       ABS_MT_TRACKING_ID   0000001a
[   12345.000000] /dev/input/event2: EV_ABS       ABS_MT_POSITION_X    0000021c
[   12345.000000] /dev/input/event2: EV_ABS       ABS_MT_POSITION_Y    000004b0
[   12345.000000] /dev/input/event2: EV_ABS       ABS_MT_PRESSURE      00000040
[   12345.000000] /dev/input/event2: EV_KEY       BTN_TOUCH            DOWN
[   12345.000000] /dev/input/event2: EV_SYN       SYN_REPORT           00000000
[   12345.004000] /dev/input/event1: EV_KEY       KEY_VOLUMEUP         DOWN
[   12345.008333] /dev/input/event2: EV_ABS       ABS_MT_POSITION_Y    000004a6
[   12345.008333] /dev/input/event2: EV_SYN       SYN_REPORT           00000000
[   12345.016667] /dev/input/event2: EV_ABS       ABS_MT_SLOT          00000001
[   12345.016667] /dev/input/event2: EV_ABS       ABS_MT_TRACKING_ID   0000001b
[   12345.016667] /dev/input/event2: EV_ABS       ABS_MT_POSITION_X    00000000
[   12345.016667] /dev/input/event2: EV_ABS       ABS_MT_POSITION_Y    0000095f
[   12345.016667] /dev/input/event2: EV_SYN       SYN_REPORT           00000000
[   12345.020000] /dev/input/event2: EV_SYN       SYN_REPORT           00000000
[   12345.025000] /dev/input/event2: EV_ABS       ABS_MT_SLOT          00000000
[   12345.025000] /dev/input/event2: EV_ABS       ABS_MT_TRACKING_ID   ffffffff
[   12345.025000] /dev/input/event2: EV_SYN       SYN_REPORT           00000000
`

func says(all []input.Timed) string {
	var b strings.Builder
	for _, t := range all {
		fmt.Fprintf(&b, "%v %v\n", t.After, t.Actions)
	}
	return b.String()
}

func TestRead(t *testing.T) {
	r, err := Read("pan.touch", strings.NewReader(pan))
	if err != nil {
		t.Fatal(err)
	}
	// The second finger is never lifted in the file.
	want := `0s [finger 0 down at 270,600]
8.333ms [finger 0 to 270,595]
16.667ms [finger 1 down at 0,1199]
25ms [finger 0 up]
25ms [finger 1 up]
`
	if got := says(r.Timed(Area{0, 0, 540, 1200})); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
	if got := says(r.Timed(Area{100, 50, 1080, 2400})); !strings.Contains(got, "finger 0 down at 640,1250") {
		t.Error(got)
	}
}

func TestReadWithoutNames(t *testing.T) {
	const raw = "[ 1.000000] 0003 0039 00000001\n[ 1.000000] 0003 0035 00000010\n[ 1.000000] 0003 0036 00000020\n" +
		"[ 1.000000] 0000 0000 00000000\n" +
		"[ 1.100000] 0003 0039 ffffffff\n[ 1.100000] 0003 0039 00000002\n[ 1.100000] 0000 0000 00000000\n"
	r, err := Read("raw", strings.NewReader(raw))
	if err != nil {
		t.Fatal(err)
	}
	// Lifted and set down again within one report.
	want := "0s [finger 0 down at 16,32]\n100ms [finger 0 up finger 0 down at 16,32]\n100ms [finger 0 up]\n"
	if got := says(r.Timed(Area{0, 0, 540, 1200})); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}

func TestReadErrors(t *testing.T) {
	at := func(s string) string { return "[ 1.000000] 0003 0039 00000001\n" + s }
	for _, tc := range []struct{ name, in, want string }{
		{"nothing", "", "no finger touches anything"},
		{"another file", "name: pan\nsteps:\n", "no finger touches anything"},
		{"no event", at("[ 2.5] up"), "x:2: "},
		{"time goes back", at("[ 0.900000] 0003 0035 00000001"), "x:2: time goes back, from 1s to 900ms"},
		{"too many fingers", at("[ 1.000000] EV_ABS ABS_MT_SLOT 0000000a"), "x:2: finger 10"},
		{"off the glass", at("[ 1.000000] EV_ABS ABS_MT_POSITION_X ffffffff"), "x:2: place -1"},
		{"lost events", at("[ 1.000000] EV_SYN SYN_DROPPED 00000000"), "x:2: events were lost"},
		{"protocol A", at("[ 1.000000] EV_SYN SYN_MT_REPORT 00000000"), "x:2: this glass speaks the older protocol"},
		{"no value", at("[ 1.000000] EV_ABS ABS_MT_SLOT five"), `x:2: invalid value "five"`},
		{"a glass without size", "add device 1: /dev/input/event0\n ABS_MT_POSITION_X : value 0, min 0, max 0, fuzz 0",
			"x:2: places from 0 to 0"},
		{"too long", at("[ 1.000000] EV_SYN SYN_REPORT 00000000\n[ 9999.000000] 0003 0035 00000001\n" +
			"[ 9999.000000] EV_SYN SYN_REPORT 0"), "x:4: the recording is longer than 1h"},
	} {
		_, err := Read("x", strings.NewReader(tc.in))
		var e *fileError
		if err == nil || !errors.As(err, &e) || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v, want %q", tc.name, err, tc.want)
		}
	}
}

func FuzzRead(f *testing.F) {
	f.Add(pan)
	f.Add("[ 1.000000] 0003 0039 00000001\n[ 1.000000] 0000 0000 00000000\n")
	f.Fuzz(func(t *testing.T, text string) {
		r, err := Read("fuzz", strings.NewReader(text))
		if err != nil {
			return
		}
		var held input.Held
		last := time.Duration(0)
		for _, timed := range r.Timed(Area{10, 20, 300, 200}) {
			if timed.After < last {
				t.Fatal("times go back")
			}
			last = timed.After
			for _, a := range timed.Actions {
				switch a := a.(type) {
				case input.TouchDown:
					if held.Finger(a.Finger) || a.X < 10 || a.X > 309 || a.Y < 20 || a.Y > 219 {
						t.Fatalf("%v", a)
					}
				case input.TouchMove:
					if !held.Finger(a.Finger) {
						t.Fatalf("%v, which is not down", a)
					}
				case input.TouchUp:
					if !held.Finger(a.Finger) {
						t.Fatalf("%v, which is not down", a)
					}
				}
				held.Note(a)
			}
		}
		if len(held.Lift()) != 0 {
			t.Fatal("a finger stays down")
		}
		again, err := Read("again", strings.NewReader(written(r)))
		if err != nil {
			t.Fatal(err)
		}
		if r.MaxX == 0 || r.MaxY == 0 {
			again.MaxX, again.MaxY, r.MaxX, r.MaxY = 0, 0, 0, 0
		}
		if !reflect.DeepEqual(r, again) {
			t.Fatalf("%+v is read again as %+v", r, again)
		}
	})
}

// written is a recording as getevent prints it, of which Read makes the same.
func written(r *Recording) string {
	var out strings.Builder
	if r.MaxX > 0 && r.MaxY > 0 {
		fmt.Fprintf(&out,
			"add device 1: /dev/input/event0\n    ABS_MT_POSITION_X     : value 0, min 0, max %d, fuzz 0, flat 0, "+
				"resolution 0\n"+
				"    ABS_MT_POSITION_Y     : value 0, min 0, max %d, fuzz 0, flat 0, resolution 0\n", r.MaxX, r.MaxY)
	}
	line := func(at time.Duration, typ, code string, value int32) {
		fmt.Fprintf(&out, "[%8d.%06d] /dev/input/event0: %-12s %-20s %08x\n", at/time.Second,
			at%time.Second/time.Microsecond, typ, code, uint32(value))
	}
	for n, report := range r.Reports {
		abs := func(code string, value int) { line(report.After, "EV_ABS", code, int32(value)) }
		for _, a := range report.Actions {
			switch a := a.(type) {
			case input.TouchDown:
				abs("ABS_MT_SLOT", a.Finger)
				abs("ABS_MT_TRACKING_ID", n)
				abs("ABS_MT_POSITION_X", int(a.X))
				abs("ABS_MT_POSITION_Y", int(a.Y))
			case input.TouchMove:
				abs("ABS_MT_SLOT", a.Finger)
				abs("ABS_MT_POSITION_X", int(a.X))
				abs("ABS_MT_POSITION_Y", int(a.Y))
			case input.TouchUp:
				abs("ABS_MT_SLOT", a.Finger)
				abs("ABS_MT_TRACKING_ID", -1)
			}
		}
		line(report.After, "EV_SYN", "SYN_REPORT", 0)
	}
	return out.String()
}
