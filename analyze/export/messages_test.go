package export

import (
	"bytes"
	"image"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/eideticker/eideticker/analyze/internal/analyzetest"
	"github.com/eideticker/eideticker/analyze/strip/payload"
	"github.com/eideticker/eideticker/capture/frame"
	"github.com/eideticker/eideticker/capture/timeline"
	"github.com/eideticker/eideticker/codec/recording"
)

// TestMessages exports the messages of a recording. Its third packet is in no frame.
func TestMessages(t *testing.T) {
	const width, height = 320, 180
	path := filepath.Join(t.TempDir(), "told.eid")
	w := analyzetest.Must(recording.Create(path, recording.Options{}))(t)
	f, err := frame.NewFormat(frame.BGR4, width, height)
	if err == nil {
		err = w.Segment(f, 1, 60)
	}
	geo, errPlace := payload.NewGeometry(image.Rect(0, 0, width, height), payload.Cells)
	if err != nil || errPlace != nil {
		t.Fatal(err, errPlace)
	}
	pix := make([]byte, f.Size())
	for n, data := range []string{"<a>", "b\x00\xff", "", "d", "e"} {
		if n == 2 {
			continue
		}
		if err := geo.Draw(pix, width, payload.Packet{Sequence: uint16(n), First: true, Last: true, Clock: uint32(n),
			Data: []byte(data)}); err != nil {
			t.Fatal(err)
		}
		m := frame.Meta{Sequence: uint64(n), Sampled: timeline.At(timeline.Time(n) * 16e6)}
		if n > 2 {
			m.Sequence--
		}
		analyzetest.Check(t, w.WriteFrame(slices.Clone(pix), m, nil))
	}
	analyzetest.Check(t, w.Close())
	r := analyzetest.Must(recording.Open(path))(t)
	defer r.Close() // only read
	var out bytes.Buffer
	n, lost, err := (&Selection{Reader: r, Path: path, To: r.Frames()}).Messages(t.Context(), &out)
	want := []string{`{"frame":0,"whole":0,"clock_us":0,"text":"<a>"}`,
		`{"frame":1,"whole":1,"clock_us":1,"base64":"YgD/"}`,
		`{"frame":2,"whole":2,"clock_us":3,"text":"d"}`, `{"frame":3,"whole":3,"clock_us":4,"text":"e"}`}
	if got := strings.Split(strings.TrimSpace(out.String()), "\n"); n != 4 || lost != 1 || err != nil ||
		!slices.Equal(got, want) {
		t.Errorf("%d messages, %d lost, %v:\n%s", n, lost, err, out.String())
	}
	n, lost, err = (&Selection{Reader: r, Path: path, From: 2, To: 4}).Messages(t.Context(), &out)
	if n != 3 || lost != 2 || err != nil { // the third frame still shows the first packet
		t.Errorf("from the middle %d messages, %d packets lost, %v", n, lost, err)
	}
}
