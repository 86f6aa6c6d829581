package certify

import (
	"errors"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/eideticker/eideticker/capture"
	"github.com/eideticker/eideticker/codec/recorder"
	"github.com/eideticker/eideticker/codec/recording"
)

// property returns a finding by its name.
func (r *Report) property(t *testing.T, name string) Finding {
	t.Helper()
	i := slices.IndexFunc(r.Findings, func(f Finding) bool { return f.Property == name })
	if i < 0 {
		t.Fatalf("no finding on %s in %+v", name, r.Findings)
	}
	return r.Findings[i]
}

// TestNoPattern records a screen without the pattern. It fails, and the report suggests the cause.
//
// Fault: Something covers the pictures of `certify`
func TestNoPattern(t *testing.T) {
	r := simulated(t, simulation{Frames: 12, Picture: []effect{colours(func(rgb) rgb { return grey(90) })}})
	if f := r.property(t, propertySignal); r.Verdict != Fail || f.Verdict != Fail ||
		!strings.Contains(f.Advice, "another window") || len(r.Findings) != 1 {
		t.Errorf("%s: %+v", r.Verdict, r.Findings)
	}
}

// TestStalePictures has a path that sometimes shows pictures of another run, as one that never
// clears its memory.
//
// Fault: Something covers the pictures of `certify`
func TestStalePictures(t *testing.T) {
	r := simulated(t, simulation{Frames: 70, Stale: 20})
	if f := r.property(t, propertySignal); f.Verdict != Fail || !strings.Contains(f.Came, "3 not of this run") {
		t.Errorf("%+v", f)
	}
}

// TestNoWholeFrame has no frame that shows one picture: unknown properties are then not blamed.
func TestNoWholeFrame(t *testing.T) {
	r := Report{Time: Temporal{Judged: 9, Torn: 9}, Geometry: Geometry{Unscaled: true},
		Mode: PlayedMode{Subsampling: "4:4:4", StepNS: 1, FittedPeriodFS: 1e6}, Played: Player{MeanNS: 1, Pictures: 9}}
	r.conclude()
	for _, f := range r.Findings {
		switch f.Property {
		case propertyDuplicates, propertyDrops, propertyOrder, propertyDelay, propertyDetail, propertyChroma,
			propertyRange, propertyColour, propertyLevels, propertyBits:
			if f.Verdict != NotJudged || f.Came != brokenWhy {
				t.Errorf("%+v", f)
			}
		default:
			if (f.Verdict == Fail) != (f.Property == propertyTearing) {
				t.Errorf("%+v", f)
			}
		}
	}
}

// TestDurations refuses before anything is played what could not be judged.
func TestDurations(t *testing.T) {
	for _, tc := range []struct {
		o    Options
		want string
	}{
		{Options{Duration: 2 * time.Second, Period: capture.Rational{Num: 1, Den: 1}}, "play 4s or longer"},
		{Options{Duration: 4 * time.Second, Period: capture.Rational{Num: 1, Den: 1}}, ""},
		{Options{Duration: time.Hour, Period: capture.Rational{Num: 1, Den: 240}}, ""},
		{Options{Duration: time.Hour, Period: capture.Rational{Num: 1, Den: 1000}}, "lower -t or --fps"},
	} {
		if err := tc.o.check(); tc.want == "" && err != nil || tc.want != "" &&
			(!errors.Is(err, ErrDuration) || !strings.Contains(err.Error(), tc.want)) {
			t.Errorf("%v at %v: %v, want %q", tc.o.Duration, tc.o.Period, err, tc.want)
		}
	}
}

// TestWorstFrameOfAllFrames takes a frame of the segment that was judged, which need not be the
// first.
func TestWorstFrameOfAllFrames(t *testing.T) {
	s := simulation{Width: 640, Height: 360, Frames: 12}
	path := filepath.Join(t.TempDir(), "a.eid")
	if err := s.Open(); err != nil {
		t.Fatal(err)
	}
	if _, err := recorder.Record(t.Context(), &s, path, recorder.Options{}); err != nil {
		t.Fatal(err)
	}
	fails := &Report{Verdict: Fail, Time: Temporal{Worst: -1}, Exactness: Exactness{Worst: -1},
		Mode: PlayedMode{First: 6, Frames: 6}}
	_, sent, err := worstFrame(path, fails)
	if err != nil {
		t.Fatal(err)
	}
	want, err := s.painter.picture(9)
	if err != nil || !reflect.DeepEqual(sent, want) {
		t.Errorf("not frame 9 of the recording, which shows picture 9: %v", err)
	}
}

// TestHalfTheRate has a driver that promises each frame and delivers each second.
func TestHalfTheRate(t *testing.T) {
	r := simulated(t, simulation{Frames: 120, Skip: 2})
	if f := r.property(t, propertyDrops); f.Verdict != Fail || r.Time.Dropped < 55 {
		t.Errorf("%+v", f)
	}
	if f := r.property(t, propertyRate); f.Verdict != Fail {
		t.Errorf("%+v", f)
	}
}

// TestEvidenceIsNotTrusted reads recordings that claim what cannot be.
func TestEvidenceIsNotTrusted(t *testing.T) {
	good := `{"version":2,"output":"x","width_px":640,"height_px":360,"nonce":1,` +
		`"period_num_s":1,"period_den":60,"latch_ns":0}`
	for name, meta := range map[string]string{
		"nothing":         "",
		"another version": strings.Replace(good, `"version":2`, `"version":3`, 1),
		"no period":       strings.Replace(good, `"period_den":60`, `"period_den":0`, 1),
		"negative latch":  strings.Replace(good, `"latch_ns":0`, `"latch_ns":-1`, 1),
		"a huge picture":  strings.Replace(good, `"width_px":640`, `"width_px":1000000`, 1),
		"text for number": strings.Replace(good, `"width_px":640`, `"width_px":"a"`, 1),
		"no pictures":     good,
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "a.eid")
			s := simulation{Width: 640, Height: 360, Frames: 3}
			if err := s.Open(); err != nil {
				t.Fatal(err)
			}
			s.info.Metadata = s.info.Metadata[:0]
			s.silent = true
			if meta != "" {
				s.info.Metadata = append(s.info.Metadata, metadataOf(meta))
			}
			if _, err := recorder.Record(t.Context(), &s, path, recorder.Options{}); err != nil {
				t.Fatal(err)
			}
			r, err := recording.Open(path)
			if err != nil {
				t.Fatal(err)
			}
			defer r.Close()
			if rep, err := analyzeRecording(t.Context(), r); err == nil {
				t.Errorf("analysed to %+v", rep)
			} else {
				t.Log(err)
			}
		})
	}
}
