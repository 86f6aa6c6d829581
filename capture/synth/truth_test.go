package synth

import (
	"reflect"
	"testing"
)

// TestChangesAgainstPixels renders every frame of more than a cycle and compares it with the one
// before.
func TestChangesAgainstPixels(t *testing.T) {
	queries := []string{
		"size=160x120",
		"size=160x120&seed=7&markers=1&frames=200",
		"size=34x18&seed=2&format=NV12&stride=48",
		"size=34x18&seed=2&format=P010&stride=80",
		"size=33x17&seed=2&format=NV24&stride=48",
		"size=51x37&seed=3&format=YU12&markers=1",
		"size=1x1&seed=4&format=GREY",
		"size=2x1&seed=5&format=UYVY&frames=3&markers=1",
		"size=320x200&seed=6&format=RGB4&frames=170",
	}
	for _, scene := range sceneNames() {
		for _, query := range queries {
			t.Run(scene+"/"+query, func(t *testing.T) {
				s := open(t, scene, query)
				truth := s.Truth()
				end := truth.Cycle.From + truth.Cycle.Frames + 70
				if truth.Frames > 0 {
					end = truth.Frames
				}
				before := render(s, 0)
				if truth.Changed(0) {
					t.Error("frame 0 has no frame before it and is told to differ")
				}
				for n := uint64(1); n < end; n++ {
					now := render(s, n)
					if got, want := truth.Changed(n), !same(s.geo.layout, before, now); got != want {
						t.Fatalf("frame %d: truth says differs %v, pixels say %v", n, got, want)
					}
					before = now
				}
			})
		}
	}
}

// TestCyclesRepeat holds the recurrence that Cycle promises against frames far on.
func TestCyclesRepeat(t *testing.T) {
	for _, scene := range sceneNames() {
		if scene == "fps" || scene == "strip" {
			continue // only their changes recur that soon
		}
		t.Run(scene, func(t *testing.T) {
			s := open(t, scene, "size=96x64")
			truth := s.Truth()
			for _, n := range []uint64{3, 70, 100, 131, 155, 1000} {
				a, b := render(s, truth.Cycle.Fold(n)), render(s, n+5*truth.Cycle.Frames)
				if n >= truth.Cycle.From && !same(s.geo.layout, a, b) {
					t.Errorf("frame %d is not the same five cycles later", n)
				}
			}
		})
	}
}

func TestTruthSurvivesJSON(t *testing.T) {
	for _, scene := range sceneNames() {
		s := open(t, scene, "size=320x240&markers=1&frames=150")
		m := s.Info().Metadata
		if len(m) != 1 || m[0].Name != truthName {
			t.Fatalf("%s: metadata %v", scene, m)
		}
		got, err := parseTruth(m[0].Value)
		if err != nil {
			t.Fatalf("%s: %v", scene, err)
		}
		if !reflect.DeepEqual(got, s.Truth()) {
			t.Errorf("%s: read back\n%+v\nwant\n%+v", scene, got, s.Truth())
		}
	}
}

func TestParseTruthRefuses(t *testing.T) {
	for name, value := range map[string]string{
		"no JSON":         "{",
		"another version": `{"version":99,"cycle":{"frames":1}}`,
		"no cycle":        `{"version":1}`,
	} {
		if _, err := parseTruth([]byte(value)); err == nil {
			t.Errorf("%s: read without an error", name)
		}
	}
}

// TestSeeds: a scene is a function of its seed, and of nothing else.
func TestSeeds(t *testing.T) {
	for _, scene := range sceneNames() {
		a, b := open(t, scene, "size=320x240&seed=1"), open(t, scene, "size=320x240&seed=1")
		c := open(t, scene, "size=320x240&seed=2")
		differ := false
		for _, n := range []uint64{20, 151} {
			if string(render(a, n)) != string(render(b, n)) {
				t.Errorf("%s: two sources of one seed differ", scene)
			}
			differ = differ || string(render(a, n)) != string(render(c, n))
		}
		if !differ {
			t.Errorf("%s: two seeds look the same", scene)
		}
	}
}

func TestMarkers(t *testing.T) {
	for _, scene := range sceneNames() {
		s := open(t, scene, "size=40x30&markers=1&frames=40")
		truth := s.Truth()
		if *truth.Green != (Run{0, 30}) || truth.Content != (Run{30, 70}) || *truth.Red != (Run{70, 100}) {
			t.Fatalf("%s: green %v, content %v, red %v", scene, *truth.Green, truth.Content, *truth.Red)
		}
		if got := s.Info().Frames; got != 100 {
			t.Errorf("%s: %d frames, want 100", scene, got)
		}
		for n := range uint64(100) {
			px := render(s, n)[4*17:][:3]
			isGreen := string(px) == "\x00\xff\x00"
			isRed := string(px) == "\x00\x00\xff"
			if isGreen != truth.Green.Holds(n) || isRed != truth.Red.Holds(n) {
				t.Errorf("%s: frame %d has pixel %x", scene, n, px)
			}
		}
	}
	if endless := open(t, "fps", "size=40x30&markers=1").Truth(); endless.Red != nil || endless.Content.End != 0 {
		t.Errorf("endless scene ends in %v", endless.Red)
	}
}
