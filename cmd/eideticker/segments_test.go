package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/eideticker/eideticker/analyze/export"
	"github.com/eideticker/eideticker/capture/frame"
	"github.com/eideticker/eideticker/capture/timeline"
	"github.com/eideticker/eideticker/codec/recording"
)

// writeSegments makes a recording of a signal that was 16x8 at 60 Hz, was of another mode without a
// frame, went to 50 Hz, and then to 32x16: five frames each.
func writeSegments(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "a.eid")
	w, err := recording.Create(path, recording.Options{})
	if err != nil {
		t.Fatal(err)
	}
	sequence := uint64(0)
	for _, s := range []struct {
		width, height int
		fps           int64
		frames        int
	}{{16, 8, 60, 5}, {64, 8, 60, 0}, {16, 8, 60, 5}, {16, 8, 50, 5}, {32, 16, 50, 5}} {
		f, err := frame.NewFormat(frame.YU12, s.width, s.height)
		if err == nil && sequence > 0 {
			err = w.Gap(frame.Gap{First: sequence, Count: 2, Cause: frame.FormatChange})
			sequence += 2
		}
		if err = errors.Join(err, w.Segment(f, 1, s.fps)); err != nil {
			t.Fatal(err)
		}
		for range s.frames {
			pix := bytes.Repeat([]byte{byte(sequence)}, f.Size())
			if err := w.WriteFrame(pix,
				frame.Meta{Sequence: sequence, Sampled: timeline.At(timeline.Time(sequence) * 20e6)}, nil); err != nil {
				t.Fatal(err)
			}
			sequence++
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return path
}

// Fault: One export would mix formats or rates
func TestExportsOfSeveralFormats(t *testing.T) {
	in := writeSegments(t)
	for _, tc := range []struct {
		out, frames string
		refused     string // part of the sentence, or "" for none
	}{
		{"a.raw", "", "frames 0:20 change from 16x8"},
		{"a.y4m", "", "frames 0:20 change from 16x8"},
		{"a.png", "", "at 15; select frames of one format with --frames"},
		{"a.mp4", "", "at 15; select frames of one format with --frames"},
		{"b.raw", "0:15", ""}, // one format at two rates
		{"b.y4m", "0:15", "frames 0:15 change from 60 to 50 frames/s at 10; select frames of one rate with --frames"},
		{"b.mp4", "0:15", "frames 0:15 change from 60 to 50 frames/s at 10"},
		{"c.y4m", "0:10", ""}, // a mode without frames lies between
		{"d.y4m", "15:20", ""},
		{"e.eid", "3:18", ""},
		{"f.csv", "", ""},
		{"g.json", "", ""},
	} {
		t.Run(tc.out+" "+tc.frames, func(t *testing.T) {
			out := filepath.Join(t.TempDir(), tc.out)
			args := []string{"export", in, "-o", out}
			if tc.frames != "" {
				args = append(args, "--frames", tc.frames)
			}
			var said bytes.Buffer
			code := run(t.Context(), args, nil, &said, &said)
			_, err := os.Stat(out)
			switch {
			case tc.refused == "" && (code != exitOK || err != nil):
				t.Errorf("exit code %d, %v: %s", code, err, &said)
			case tc.refused != "" && (code != exitFailure || err == nil ||
				!strings.Contains(said.String(), tc.refused)):
				t.Errorf("exit code %d, %v: %s, want %q", code, err, &said, tc.refused)
			}
		})
	}
}

func TestInfoOfSeveralFormats(t *testing.T) {
	in := writeSegments(t)
	var out, said bytes.Buffer
	if code := run(t.Context(), []string{"info", in}, nil, &out, &said); code != exitOK {
		t.Fatal(said.String())
	}
	for _, want := range []string{
		"16x8 YU12", "frames 0:5, 0.080 s", "50 frames a second (measured 50.0000), frames 10:15", "32x16 YU12",
		"20 stored + 8 missing = 28, numbers 0 to 27", "8: 8 format change",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("info does not say %q:\n%s", want, &out)
		}
	}
	if strings.Contains(out.String(), "64x8") {
		t.Errorf("info tells of a mode without frames:\n%s", &out)
	}
	out.Reset()
	if code := run(t.Context(), []string{"info", in, "--json"}, nil, &out, &said); code != exitOK {
		t.Fatal(said.String())
	}
	var info export.Info
	if err := json.Unmarshal(out.Bytes(), &info); err != nil {
		t.Fatal(err)
	}
	if len(info.Segments) != 5 || info.Segments[1].Frames != 0 || info.Segments[3].FirstFrame != 10 ||
		info.Segments[3].PeriodFS != 2e13 {
		t.Errorf("segments %+v", info.Segments)
	}
}
