//go:build linux && rigvm

package recorder

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"

	"github.com/eideticker/eideticker/capture/frame"
	"github.com/eideticker/eideticker/capture/timeline"
	"github.com/eideticker/eideticker/capture/v4l2"
	"github.com/eideticker/eideticker/codec/recording"
)

// hdmiMulti is the VM's receiver that speaks the multi-planar API.
const hdmiMulti = "/dev/video1"

// TestRecordingHoldsTheCounts compares files with their pictures. vivid writes its count of frames
// into each, in letters of 8 by 16 (drivers/media/test-drivers/vivid/vivid-kthread-cap.c). The
// count is at character 14 of a line that begins at pixel 16 of row 16. The font is unknown. But
// each digit must always look the same, and no two digits alike. The digits must give the frame's
// number in the file. With EIDETICKER_SOAK, both receivers fill both kinds of memory.
func TestRecordingHoldsTheCounts(t *testing.T) {
	for i, path := range []string{hdmi, hdmiMulti} {
		for j, memory := range []string{"mmap", "userptr"} {
			if i != j && os.Getenv("EIDETICKER_SOAK") == "" {
				continue
			}
			t.Run(filepath.Base(path)+" "+memory, func(t *testing.T) {
				showCounts(t, path)
				for try := 0; ; try++ {
					file := filepath.Join(t.TempDir(), "a.eid")
					recordCounts(t, "v4l2:"+path+"?format=BGR4&wait=30s&memory="+memory, file)
					if checkCounts(t, file) {
						return
					}
					if try == 8 {
						t.Fatal("no recording in which the driver counts each frame")
					}
				}
			})
		}
	}
}

// showCounts has a receiver see still colour bars of 640x480 with the count over them.
func showCounts(t *testing.T, path string) {
	t.Helper()
	set := func(name string, value int64) {
		t.Helper()
		if err := v4l2.SetControl(path, name, value); err != nil {
			t.Fatal(err)
		}
	}
	d, err := v4l2.Inspect(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range d.Controls {
		for value, label := range c.Menu {
			if c.Name == timings && label == usual {
				set(timings, value)
			}
		}
	}
	const text, countersOnly = "OSD Text Mode", 1
	set(signalMode, selected)
	set(text, countersOnly)
	t.Cleanup(func() { set(text, 0) })
}

// recordCounts records some frames.
func recordCounts(t *testing.T, uri, file string) {
	t.Helper()
	src, err := OpenSource(t.Context(), uri)
	if err != nil {
		t.Fatal(err)
	}
	res, err := newScene(t).record(src, file, acts(stored(30)))
	if closeErr := src.Close(); err != nil || closeErr != nil {
		t.Fatal(err, closeErr)
	}
	t.Log(accountText(res))
	if !res.balanced() {
		t.Errorf("%+v", res.Account)
	}
}

// checkCounts reports false where file and picture may differ for good reasons: the stream was
// begun again, so that the driver counts anew; or vivid, which is late under load, has given two
// frames one number.
func checkCounts(t *testing.T, file string) bool {
	t.Helper()
	r, err := recording.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	// maybe one of the two
	lost := slices.ContainsFunc(r.Gaps(), func(g recording.Gap) bool { return g.Cause != frame.DriverLost })
	if lost || slices.ContainsFunc(r.Events(), func(e timeline.EventHead) bool { return e.Source == "v4l2" }) {
		return false
	}
	format := r.Segments()[0].Layout.Format
	if format.Width != 640 || format.Height != 480 {
		t.Fatalf("recorded %v", format)
	}
	pix := make([]byte, format.Size())
	var looks [10]string
	before, held := "", r.Frames()
	var wrong []string
	for i := range r.Frames() {
		meta, err := r.Meta(i)
		if err != nil {
			t.Fatal(err)
		}
		if err := r.ReadFrame(i, pix); err != nil {
			t.Fatal(err)
		}
		shown := ""
		for column := 14; column < 20; column++ {
			shown += countLetter(pix, format.Stride, column)
		}
		if shown == before { // the interval before counts
			held = i - 1
			break
		}
		before = shown
		for k, digit := range strconv.FormatUint(meta.Sequence, 10) {
			known, look := &looks[digit-'0'], countLetter(pix, format.Stride, 14+k)
			if *known == "" {
				*known = look
			}
			if *known != look {
				wrong = append(wrong, fmt.Sprintf("frame %d: the %c looks as a %d", meta.Sequence, digit,
					slices.Index(looks[:], look)))
			}
		}
	}
	for _, w := range wrong {
		t.Error(w)
	}
	unlike := map[string]bool{}
	digits := 0
	for _, look := range looks {
		if look != "" {
			digits++
			unlike[look] = true
		}
	}
	const enough, most = 12, 8 // frames, and digits that they show
	if held < r.Frames() && (held < enough || digits < most) {
		return false
	}
	if digits < most || len(unlike) != digits {
		t.Errorf("%d frames with %d digits that look like %d", held, digits, len(unlike))
	}
	return true
}

// countLetter returns the pixels of a letter of that line.
func countLetter(pix []byte, stride, column int) string {
	var b []byte
	for y := range 16 {
		for x := range 8 {
			b = append(b, pix[(16+y)*stride+(16+8*column+x)*4])
		}
	}
	return string(b)
}
