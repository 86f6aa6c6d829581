package runfolder

import (
	"fmt"
	"image"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/eideticker/eideticker/analyze/internal/analyzetest"
	"github.com/eideticker/eideticker/analyze/result"
	"github.com/eideticker/eideticker/analyze/strip/payload"
	"github.com/eideticker/eideticker/capture/frame"
	"github.com/eideticker/eideticker/capture/timeline"
	"github.com/eideticker/eideticker/codec/recording"
)

// told writes a recording of a moving bar between markers. In each frame that send picks, the page
// draws a packet. Nothing of the bar is below the block.
func told(t *testing.T, form payload.Form, send func(k int) bool) *recording.Reader {
	const width, height, frames = 320, 180, 40
	s := newScript(t)
	s.segment(width, height)
	s.frames(10, green)
	geo, err := payload.NewGeometry(image.Rect(0, 0, width, height), form)
	s.check(err)
	pix := make([]byte, 4*width*height)
	sent := uint16(0)
	for k := range frames {
		for i := range pix[:width*100*4] {
			pix[i] = 0
			if k%3 > 0 && i/4%width/8 == k {
				pix[i] = 200
			}
		}
		if send(k) {
			s.check(geo.Draw(pix, width, payload.Packet{Sequence: sent, First: true, Last: true,
				Clock: uint32(k) * 16_667, Data: fmt.Appendf(nil, `{"n":%d}`, sent)}))
			sent++
		}
		m := frame.Meta{Sequence: s.seq, Sampled: timeline.At(timeline.Time(s.seq) * period)}
		s.check(s.w.WriteFrame(slices.Clone(pix), m, nil))
		s.seq++
	}
	s.frames(10, red)
	return s.open()
}

// TestMessagesDoNotCount: a block does not change the results. The same page without one has equal
// results, if the same pixels are masked.
func TestMessagesDoNotCount(t *testing.T) {
	rnd := rand.New(rand.NewPCG(3, 4))
	for _, form := range []payload.Form{payload.Exact, payload.Cells} {
		with := told(t, form, func(k int) bool { return k > 2 && rnd.IntN(4) > 0 })
		found := analyzetest.Must(Run(t.Context(), with, Settings{}, "test", silent{}))(t)
		w := found.Results.Windows[0]
		if w.Channel == nil || w.Channel.Form != string(form) || len(w.Masks) != 1 || len(w.Warnings) > 0 {
			t.Fatalf("%s: channel %+v, masks %v, warnings %q", form, w.Channel, w.Masks, w.Warnings)
		}
		if c := w.Channel; c.Packets < 15 || c.Messages != c.Packets || c.Lost+c.Before+c.Cut+c.Broken > 0 {
			t.Errorf("%s: %+v", form, c)
		}
		for i, m := range w.Channel.List {
			if want := fmt.Sprintf(`{"n":%d}`, i); m.Text != want || m.Whole != m.Frame {
				t.Errorf("%s: message %d is %+v, want %s", form, i, m, want)
			}
		}
		b := w.Masks[0]
		masks := []frame.Region{{X: b[0], Y: b[1], Width: b[2], Height: b[3]}}
		without, err := Run(t.Context(), told(t, form, func(int) bool { return false }), Settings{Masks: masks}, "test",
			silent{})
		if err != nil {
			t.Fatal(err)
		}
		bare := without.Results.Windows[0]
		if bare.Channel != nil {
			t.Errorf("%s: a channel without messages: %+v", form, bare.Channel)
		}
		if got, want := texts(w), texts(bare); !slices.Equal(got, want) || len(got) < 20 {
			t.Errorf("%s: with messages\n%s\nwithout\n%s", form, strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
	}
}

// texts are all values of a window.
func texts(w result.Window) (all []string) {
	for _, r := range w.Results {
		for _, v := range r.Values {
			all = append(all, fmt.Sprint(r.Measure, v))
		}
		for _, s := range r.Series {
			all = append(all, fmt.Sprint(r.Measure, s))
		}
	}
	return all
}

// TestLostMessagesAreAWarning: lost frames may hold packets.
func TestLostMessagesAreAWarning(t *testing.T) {
	r := told(t, payload.Exact, func(k int) bool { return true })
	found, err := Run(t.Context(), r, Settings{From: 30, To: 50, Measures: []string{"fps"}}, "test", silent{})
	if err != nil {
		t.Fatal(err)
	}
	w := found.Results.Windows[0]
	if c := w.Channel; c == nil || c.Before != 19 || len(w.Warnings) != 1 || w.Warnings[0] != c.Warning() {
		t.Errorf("channel %+v, warnings %q", w.Channel, w.Warnings)
	}
}
