package suite

import (
	"testing"
	"testing/fstest"

	"github.com/eideticker/eideticker/capture/frame"
)

func TestPointIn(t *testing.T) {
	area := frame.Region{X: 10, Y: 100, Width: 201, Height: 101}
	for _, tc := range []struct {
		x, y         string
		wantX, wantY float64
	}{
		{"0", "0", 10, 100}, {"5", "7.5", 15, 107.5}, {"0%", "0%", 10, 100}, {"50%", "50%", 110, 150},
		{"100%", "100%", 210, 200},
	} {
		x, errX := parseCoordinate(tc.x)
		y, errY := parseCoordinate(tc.y)
		p := Point{X: x, Y: y}
		if gotX, gotY := p.In(area); errX != nil || errY != nil || gotX != tc.wantX || gotY != tc.wantY {
			t.Errorf("%s, %s is %g, %g, %v %v; want %g, %g", tc.x, tc.y, gotX, gotY, errX, errY, tc.wantX, tc.wantY)
		}
	}
}

func TestParseRate(t *testing.T) {
	for in, want := range map[string]Rate{
		"5Mbit": 5e6, "5Mbit/s": 5e6, "1.5Mbit": 1.5e6, "0.1kbit": 100, "1bit": 1, "1000Gbit": 1e12, "2.5Gbit": 2.5e9,
	} {
		got, err := ParseRate(in)
		again, errAgain := ParseRate(got.String())
		if err != nil || got != want || errAgain != nil || again != want {
			t.Errorf("%s is %d, %v; want %d; %s reads as %d, %v", in, got, err, want, got, again, errAgain)
		}
	}
	for _, bad := range []string{"", "Mbit", "5", "5mbit", "0bit", "1001Gbit", "NaNbit", "Infbit", "-1bit", "5 Mbit",
		"1e999bit"} {
		if got, err := ParseRate(bad); err == nil {
			t.Errorf("%q is %d", bad, got)
		}
	}
}

// tapped is the recording of one touch.
const tapped = `add device 1: /dev/input/event2
  name:     "touch"
  events:
    ABS (0003): ABS_MT_SLOT           : value 0, min 0, max 9, fuzz 0, flat 0, resolution 0
                ABS_MT_POSITION_X     : value 0, min 0, max 1079, fuzz 0, flat 0, resolution 0
                ABS_MT_POSITION_Y     : value 0, min 0, max 2399, fuzz 0, flat 0, resolution 0
[   12345.000000] /dev/input/event2: EV_ABS       ABS_MT_TRACKING_ID   0000001a
[   12345.000000] /dev/input/event2: EV_ABS       ABS_MT_POSITION_X    0000021c
[   12345.000000] /dev/input/event2: EV_ABS       ABS_MT_POSITION_Y    000004b0
[   12345.000000] /dev/input/event2: EV_SYN       SYN_REPORT           00000000
[   12345.025000] /dev/input/event2: EV_ABS       ABS_MT_TRACKING_ID   ffffffff
[   12345.025000] /dev/input/event2: EV_SYN       SYN_REPORT           00000000
`

func TestFind(t *testing.T) {
	file := func(text string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(text)} }
	mine := Source{Name: "mine", FS: fstest.MapFS{
		"a.yaml":            file("name: first\npage: /a.html\n"),
		"b.yml":             file("name: second\npage: /a.html\nsteps: [{replay: b.touch}]\n"),
		"b.touch":           file(tapped),
		"deep/c.yaml":       file("name: third\npage: /a.html\nsteps: [{replay: ../b.touch}]\n"),
		"again.yaml":        file("name: framerate\npage: /a.html\n"),
		"devices.yaml":      file("local: {source: x11}\n"),
		".hidden.yaml":      file("nothing"),
		"notes.txt":         file("nothing"),
		"1/2/3/4/deep.yaml": file("name: deep\npage: /a.html\n"),
		"1/2/3/4/5/no.yaml": file("name: deeper\npage: /a.html\n"),
		"broken.yaml":       file("name: [\n"),
	}}
	for name, want := range map[string]string{
		"first":     "",
		"second":    "",
		"deep":      "",
		"framerate": "",
		"deeper":    `unknown test "deeper"; did you mean deep?`,
		"third":     `unknown test "third"`,
		"c":         `mine/deep/c.yaml:3:18: recording "../b.touch": must be a file's name in or below its folder`,
		"broken":    "mine/broken.yaml:1:7: not YAML: sequence end token ']' not found",
		"again":     "mine/again.yaml: its name, framerate, must be unique: standard/framerate.yaml has it too",
		"frst":      `unknown test "frst"; did you mean first?`,
	} {
		test, err := Find(name, Known{}, Standard(), mine)
		switch {
		case want == "" && (err != nil || test.Name != name || test.Standard != (name == "framerate")):
			t.Errorf("%s: %v, %v", name, test, err)
		case want != "" && (err == nil || err.Error() != want):
			t.Errorf("%s: %v\nwant %s", name, err, want)
		}
	}
}
