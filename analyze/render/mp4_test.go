package render

import (
	"bytes"
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// sample is a frame of a made-up clip: its bytes, its place in the order of showing, and whether it is a keyframe.
type sample struct {
	data  string
	shown int
	key   bool
}

// clipOf writes a file as an encoder does: a rate of 50 units a frame, an index at the end.
func clipOf(samples []sample) []byte {
	entry := box("avc1", make([]byte, visualEntry-8), box("avcC", []byte("settings")), box("btrt", make([]byte, 12)))
	var data, sizes, offsets, keys []byte
	count := uint32(0)
	for i, s := range samples {
		data = append(data, s.data...)
		sizes = append(sizes, fields(uint32(len(s.data)))...)
		offsets = append(offsets, fields(1, uint32(50*(s.shown-i+2)))...)
		if s.key {
			keys = append(keys, fields(uint32(i+1))...)
			count++
		}
	}
	n := uint32(len(samples))
	stbl := box("stbl", box("stsd", fields(0, 1), entry), box("stts", fields(0, 1, n, 50)), box("stss", fields(0, count), keys),
		box("ctts", fields(0, n), offsets), box("stsz", fields(0, 0, n), sizes))
	moov := box("moov", box("mvhd", make([]byte, 100)), box("trak", box("mdia", box("minf", stbl))))
	file := append(box("ftyp", []byte("isom")), box("free")...)
	return append(append(file, box("mdat", data)...), moov...)
}

// group is four frames of which the second to be decoded is shown last.
func group() []sample {
	return []sample{{"key", 0, true}, {"last", 3, false}, {"a", 1, false}, {"bb", 2, false}}
}

func TestReadClip(t *testing.T) {
	file := clipOf(group())
	c, err := readClip(bytes.NewReader(file), int64(len(file)), 4)
	if err != nil {
		t.Fatal(err)
	}
	if got := string(file[c.data : c.data+c.bytes]); got != "keylastabb" {
		t.Errorf("data %q", got)
	}
	want := []coded{{3, 0, true}, {4, 3, false}, {1, 1, false}, {2, 2, false}}
	if !slices.Equal(c.frames, want) {
		t.Errorf("frames %v, want %v", c.frames, want)
	}
}

func TestReadClipRefusals(t *testing.T) {
	whole := clipOf(group())
	for _, tc := range []struct {
		name string
		file []byte
		want int
	}{
		{"nothing", nil, 4},
		{"other number of frames", whole, 5},
		{"no index", box("mdat", []byte("abc")), 1},
		{"half a head", []byte("\x00\x00\x00"), 1},
		{"a box of no size", []byte("\x00\x00\x00\x07ftyp\x00\x00\x00\x08moov"), 1},
		{"a negative size", []byte("\x00\x00\x00\x01mdat\xff\xff\xff\xff\xff\xff\xff\xff\x00\x00\x00\x08moov"), 1},
		{"boxes without end", []byte(strings.Repeat("\x00\x00\x00\x08free", 1000)), 1},
		{"an empty index", append(box("mdat"), box("moov")...), 0},
		{"no keyframe first", clipOf([]sample{{"a", 0, false}, {"b", 1, true}}), 2},
		{"more data than frames", bytes.Replace(whole, []byte("\x00\x00\x00\x04\x00\x00\x00\x01\x00\x00\x00\x02"), []byte("\x00\x00\x00\x04\x00\x00\x00\x01\x00\x00\x00\x01"), 1), 4},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if _, err := readClip(bytes.NewReader(tc.file), int64(len(tc.file)), tc.want); !errors.Is(err, errIncomplete) {
				t.Errorf("error %v", err)
			}
		})
	}
	for n := range whole {
		if _, err := readClip(bytes.NewReader(whole[:n]), int64(n), 4); err == nil {
			t.Errorf("cut at byte %d it reads", n)
		}
	}
}

func FuzzReadClip(f *testing.F) {
	f.Add(clipOf(group()), 4)
	f.Add(clipOf(group()[:1]), 1)
	f.Add(box("moov"), 0)
	f.Fuzz(func(t *testing.T, file []byte, want int) {
		c, err := readClip(bytes.NewReader(file), int64(len(file)), want)
		if err == nil && (len(c.frames) != want || c.data < 0 || c.data+c.bytes > int64(len(file))) {
			t.Errorf("%d frames at %d+%d of %d bytes, want %d", len(c.frames), c.data, c.bytes, len(file), want)
		}
	})
}

// TestMovieJoins reads a joined file back: frames in order, keyframes where clips begin, times without a seam.
func TestMovieJoins(t *testing.T) {
	dir := t.TempDir()
	file, err := os.Create(filepath.Join(dir, "out.mp4"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	m, err := newMovie(file, 64, 48, 60000, 1001)
	if err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(dir, "clip.mp4")
	clips := [][]sample{group(), group(), {{"end", 0, true}}}
	for _, c := range clips {
		if err := os.WriteFile(name, clipOf(c), 0o644); err != nil {
			t.Fatal(err)
		}
		if err := m.add(name, len(c)); err != nil {
			t.Fatal(err)
		}
	}
	if err := m.finish(); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(file.Name())
	if err != nil {
		t.Fatal(err)
	}
	got, err := readClip(bytes.NewReader(b), int64(len(b)), 9)
	if err != nil {
		t.Fatal(err)
	}
	if data := string(b[got.data : got.data+got.bytes]); data != "keylastabbkeylastabbend" {
		t.Errorf("data %q", data)
	}
	want := []coded{{3, 0, true}, {4, 3, false}, {1, 1, false}, {2, 2, false}, {3, 4, true}, {4, 7, false}, {1, 5, false}, {2, 6, false}, {3, 8, true}}
	if !slices.Equal(got.frames, want) {
		t.Errorf("frames %v, want %v", got.frames, want)
	}
	// Of the entry, the fields, the settings and our colours are left.
	if bytes.Contains(got.entry, []byte("btrt")) || !bytes.Contains(got.entry, []byte("avcC")) || !bytes.Contains(got.entry, []byte("colrnclx")) {
		t.Errorf("entry %q", got.entry)
	}
	at := bytes.Index(b, []byte("co64"))
	for i, want := range []string{"keylastabb", "keylastabb", "end"} {
		if place := binary.BigEndian.Uint64(b[at+12+8*i:]); !bytes.HasPrefix(b[place:], []byte(want)) {
			t.Errorf("clip %d is said to be at %d", i, place)
		}
	}
}

func TestMovieRefusesOtherSettings(t *testing.T) {
	dir := t.TempDir()
	file, err := os.Create(filepath.Join(dir, "out.mp4"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	m, err := newMovie(file, 64, 48, 60, 1)
	if err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(dir, "clip.mp4")
	for i, settings := range []string{"settings", "Settings"} {
		clip := bytes.Replace(clipOf(group()), []byte("settings"), []byte(settings), 1)
		if err := os.WriteFile(name, clip, 0o644); err != nil {
			t.Fatal(err)
		}
		if err := m.add(name, 4); (err != nil) != (i == 1) {
			t.Errorf("clip %d: error %v", i, err)
		}
	}
}

func TestUnits(t *testing.T) {
	for _, tc := range []struct {
		num, den       int64
		wantNum, wantD uint32
	}{
		{60, 1, 15360, 256}, {60000, 1001, 60000, 1001}, {120000, 2002, 60000, 1001}, {1, 1000, 16384, 1000 * 16384},
		{59_940_060, 1_000_000, 11988012 / 4, 200000 / 4},
	} {
		n, d, err := units(tc.num, tc.den)
		if err != nil || n != tc.wantNum || d != tc.wantD {
			t.Errorf("%d/%d becomes %d/%d (error %v), want %d/%d", tc.num, tc.den, n, d, err, tc.wantNum, tc.wantD)
		}
	}
	if _, _, err := units(0, 1); err == nil {
		t.Error("a rate of 0 is taken")
	}
}
