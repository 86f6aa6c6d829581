package groundtruth

import (
	"image"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/eideticker/eideticker/analyze"
	"github.com/eideticker/eideticker/analyze/response"
	"github.com/eideticker/eideticker/analyze/result"
	"github.com/eideticker/eideticker/analyze/strip"
	"github.com/eideticker/eideticker/capture/frame"
	"github.com/eideticker/eideticker/capture/timeline"
	"github.com/eideticker/eideticker/codec/recording"
	"github.com/eideticker/eideticker/controller"
	"github.com/eideticker/eideticker/netsim/site"
)

const (
	width, height = 320, 120
	period        = timeline.Time(time.Second / 60)
	pageNumber    = 7
	lost          = -2 // in place of a picture: the frame is lost
)

// shown is a page's picture in a frame of a test: its id, and what it looks like. The lower half
// may still be the one before.
type shown struct {
	id, look int
	late     *shown // nil: none is
}

// a test's page was at `from` when its first frame was sampled.
const from = 100

// film records a page that shows a picture per frame, then red. Its report is that of a page that
// drew all pictures, half a frame before they were seen.
func film(t *testing.T, page site.Page, frames []shown) (*recording.Reader, analyze.Window, site.Report) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "film.eid")
	w, err := recording.Create(path, recording.Options{})
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	check(err)
	f, err := frame.NewFormat(frame.BGR4, width, height)
	check(err)
	layout, err := frame.NewLayout(f)
	check(err)
	check(w.Segment(f, 1, 60))
	at := func(seq int) timeline.Time { return timeline.Time(seq) * period }
	told := site.Report{Page: page, Number: pageNumber, ClaimedFPS: 60, Width: width, Height: height, PixelRatio: 1}
	stored := 0
	write := func(seq int, pix []byte) {
		check(w.WriteFrame(pix, frame.Meta{Sequence: uint64(seq), Sampled: timeline.At(at(seq))}, nil))
		stored++
	}
	seq := from
	for ; seq-from < len(frames); seq++ {
		s := frames[seq-from]
		if s.id == lost {
			check(w.Gap(frame.Gap{First: uint64(seq), Count: 1, Cause: frame.RingFull, At: timeline.At(at(seq))}))
			continue
		}
		draw := func(s shown) []byte {
			pix := make([]byte, f.Size())
			for i := range pix {
				pix[i] = byte(60 + 37*s.look)
			}
			check(strip.Draw(layout.View(pix), image.Rectangle{}, strip.Code{ID: uint32(s.id), Free: pageNumber << 8}))
			return pix
		}
		pix := draw(s)
		if s.late != nil {
			copy(pix[len(pix)/2:], draw(*s.late)[len(pix)/2:])
		}
		write(seq, pix)
	}
	for ; seq-from < len(frames)+5; seq++ {
		pix := make([]byte, f.Size())
		for i := 2; i < len(pix); i += 4 {
			pix[i] = 255
		}
		write(seq, pix)
	}
	check(w.Close())
	r, err := recording.Open(path)
	check(err)
	t.Cleanup(func() { r.Close() })
	for i, s := range frames {
		if n := len(told.Drawn); s.id >= 0 && (n == 0 || told.Drawn[n-1].ID < uint32(s.id)) {
			told.Drawn = append(told.Drawn, site.Drawn{ID: uint32(s.id), At: timeline.At(at(from+i) - period/2)})
			told.Truth.Looks = append(told.Truth.Looks, s.look)
		}
	}
	told.RedFrom, told.RedTo = timeline.At(at(from+len(frames))-period/2), timeline.At(at(from+len(frames)+4))
	win := analyze.Window{Kind: analyze.ByMarkers, Green: analyze.None, Start: 0, End: stored - 6, Red: stored - 5}
	return r, win, told
}

func pictures(looks ...int) (all []shown) {
	for i, look := range looks {
		all = append(all, shown{id: i, look: look})
	}
	return all
}

func measured(t *testing.T, r analyze.Recording, w analyze.Window, measures ...string) (*analyze.Outcome,
	[]frame.Region) {
	t.Helper()
	var masks []frame.Region
	geo, err := strip.NewGeometry(image.Rect(0, 0, width, height))
	if err != nil {
		t.Fatal(err)
	}
	for _, top := range geo.Tops {
		masks = append(masks, frame.Region{X: geo.Left, Y: top, Width: strip.Cells * geo.Cell, Height: geo.Cell})
	}
	o, err := analyze.Analyze(t.Context(), r, w, analyze.Options{Measures: measures, Masks: masks,
		Response: response.Options{Kinds: []string{controller.Asked}}})
	if err != nil {
		t.Fatal(err)
	}
	return o, masks
}

// read holds a film against its report.
func read(t *testing.T, page site.Page, frames []shown, change func(*site.Report)) *Page {
	t.Helper()
	r, w, told := film(t, page, frames)
	if change != nil {
		change(&told)
	}
	o, masks := measured(t, r, w, "fps")
	p, err := Read(t.Context(), Input{Reader: r, Outcome: o, Masks: masks, Report: told, Measures: []string{"fps"}})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func failed(p *Page) (names []string) {
	for i := range p.Checks {
		if p.Checks[i].Failed() {
			names = append(names, p.Checks[i].What)
		}
	}
	return names
}

func TestChecksAgreeAndFail(t *testing.T) {
	page := site.Page{Name: "made", Cadence: site.EveryFrame}
	plain := pictures(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11)
	gap := slices.Clone(plain)
	gap[4].id, gap[5].id = lost, lost
	same := slices.Clone(plain)
	same[6].look = 5 // another picture by its number alone
	hidden := slices.Clone(plain)
	hidden[6].id = 5 // another picture under the number of the one before
	back := pictures(0, 1, 0, 1, 0, 1, 0, 1, 0, 1)
	back[4].id = lost // between two that look the same
	for name, tc := range map[string]struct {
		frames []shown
		change func(*site.Report)
		want   []string
	}{
		"as it was drawn":        {plain, nil, nil},
		"frames are lost":        {gap, nil, nil},
		"a look comes back":      {back, nil, nil},
		"and nobody said so":     {back, func(r *site.Report) { r.Truth.Looks = nil }, []string{"unique frames"}},
		"a picture like another": {same, func(r *site.Report) { r.Truth.Looks = nil }, []string{"unique frames"}},
		"a picture of no number": {hidden, func(r *site.Report) { r.Truth.Looks = nil },
			[]string{"unique frames", "framerate"}},
		"nobody drew one of them": {plain, func(r *site.Report) {
			r.Drawn, r.Truth.Looks = slices.Delete(r.Drawn, 3, 4),
				nil
		}, []string{"pictures seen and drawn"}},
		"another page": {plain, func(r *site.Report) { r.Number++ }, []string{"pictures seen and drawn"}},
		"red before it was drawn": {plain, func(r *site.Report) {
			r.RedFrom, r.RedTo = timeline.At(r.RedFrom.Earliest.Add(10*time.Second)),
				timeline.At(r.RedTo.Latest.Add(11*time.Second))
		}, []string{"framerate"}},
		"red after the page had gone": {plain, func(r *site.Report) {
			r.RedFrom, r.RedTo = r.Drawn[6].At, r.Drawn[7].At
		}, []string{"framerate"}},
	} {
		if got := failed(read(t, page, tc.frames, tc.change)); !slices.Equal(got, tc.want) {
			t.Errorf("%s: failed %q, want %q", name, got, tc.want)
		}
	}
}

// TestAnswers: clicks are answered by pictures, one of which came and went while frames were lost.
//
// TestTornMostOfTheTime: the lower half is late, as a video is on a busy machine. For a while it is
// late by as many pictures as there are images, so frames are whole. For longer it is late by one
// less. Both look like images that follow each other, and the second ones are shown more often.
// Only the strip reveals which of them are whole.
func TestTornMostOfTheTime(t *testing.T) {
	const images, whole, torn = 4, 20, 48
	var frames []shown
	for i := range whole + torn {
		late := images
		if i >= whole {
			late--
		}
		id := images + i
		frames = append(frames, shown{id: id, look: id % images,
			late: &shown{id: id - late, look: (id - late) % images}})
	}
	page := site.Page{Name: "made", Cadence: site.EveryFrame, Flip: &site.Flip{Images: images}}
	r, w, told := film(t, page, frames)
	o, masks := measured(t, r, w, "tearing")
	if v, ok := o.Results[0].Find("torn_frames"); !ok || v.Value != whole || v.State != analyze.Suspected {
		t.Fatalf("without the strip %v frames are torn (%v): this test is for where the others are taken for whole, "+
			"and that is not sure", v, ok)
	}
	p, err := Read(t.Context(), Input{Reader: r, Outcome: o, Masks: masks, Report: told, Measures: []string{"tearing"}})
	if err != nil {
		t.Fatal(err)
	}
	if i := slices.IndexFunc(p.Checks, func(c result.Check) bool { return c.What == "torn frames" }); i < 0 ||
		p.Checks[i].Failed() || p.Checks[i].Drawn.Value != torn {
		t.Errorf("the checks are %+v", p.Checks)
	}
	if v, ok := o.Results[0].Find("torn_frames"); !ok || v.Value != torn {
		t.Errorf("%v frames are torn, want %d", v.Value, torn)
	}
}

func TestAnswers(t *testing.T) {
	page := site.Page{Name: "made", Cadence: site.CadenceInput}
	var frames []shown
	for id := range 6 {
		for range 10 {
			frames = append(frames, shown{id: id, look: id % 2})
		}
	}
	gap := slices.Clone(frames)
	for i := 19; i < 31; i++ { // the second answer and nothing of it is left
		gap[i].id = lost
	}
	for name, tc := range map[string]struct {
		frames    []shown
		change    func(*site.Report)
		failed    []string
		unchecked []string
	}{
		"as it was drawn": {frames, nil, nil, nil},
		"one is hidden":   {gap, nil, nil, []string{"latency, median"}},
		"one was not told": {frames, func(r *site.Report) { r.Answers = r.Answers[:4] },
			[]string{"inputs sent and told", "answers"},
			[]string{"inputs told after they were sent", "latency, median"}},
		"one comes later": {frames, func(r *site.Report) { r.Answers[2].ID++ }, []string{"answers"}, nil},
		"told before they were sent": {frames, func(r *site.Report) {
			for i := range r.Answers {
				r.Answers[i].At = timeline.At(r.Answers[i].At.Earliest.Add(-80 * time.Millisecond))
			}
		}, []string{"inputs told after they were sent"}, nil},
		"told long after it was sent": {frames, func(r *site.Report) {
			for i := range r.Answers {
				r.Answers[i].At = r.Drawn[i+1].At
			}
		}, nil, nil},
	} {
		r, w, told := film(t, page, tc.frames)
		// All pictures are drawn, whether or not anybody sees them.
		told.Drawn, told.Truth.Looks = nil, nil
		var pings []timeline.EventHead
		for id := range 6 {
			at := timeline.Time(from+10*id)*period - period/2
			told.Drawn, told.Truth.Looks = append(told.Drawn, site.Drawn{ID: uint32(id), At: timeline.At(at)}),
				append(told.Truth.Looks, id%2)
			if id > 0 {
				pings = append(pings, timeline.EventHead{At: at - period, Source: controller.EventSource,
					Kind: controller.Asked})
				told.Answers = append(told.Answers, site.Answer{Kind: "pointerdown", At: timeline.At(at - period),
					ID: uint32(id)})
			}
		}
		if tc.change != nil {
			tc.change(&told)
		}
		o, masks := measured(t, asked{r, pings}, w, "response")
		p, err := Read(t.Context(), Input{Reader: r, Outcome: o, Masks: masks, Report: told,
			Measures: []string{"response"}})
		if err != nil {
			t.Fatal(err)
		}
		var unchecked []string
		for _, c := range p.Checks {
			if c.Unchecked {
				unchecked = append(unchecked, c.What)
			}
			if c.Unchecked && (c.Agrees || c.Note == "") {
				t.Errorf("%s: %+v", name, c)
			}
		}
		if got := failed(p); !slices.Equal(got, tc.failed) || !slices.Equal(unchecked, tc.unchecked) {
			t.Errorf("%s: failed %q and not checked %q, want %q and %q: %+v", name, got, unchecked, tc.failed,
				tc.unchecked, p.Checks)
		}
	}
}

// asked is a recording with the events of who sent input.
type asked struct {
	*recording.Reader
	pings []timeline.EventHead
}

func (a asked) Events() []timeline.EventHead { return a.pings }

// TestLastPictureLost: the part that equals the end is unknown if the end was not seen.
func TestLastPictureLost(t *testing.T) {
	frames := pictures(0, 1, 2, 3, 4, 5)
	frames[5].id = lost
	page := site.Page{Name: "made", Cadence: site.CadenceParts, Parts: []site.Part{{Kind: "box"}}}
	r, w, told := film(t, page, frames)
	told.Drawn = append(told.Drawn, site.Drawn{ID: 5, At: timeline.At(told.RedFrom.Earliest - period)})
	told.Truth = site.Truth{Pixels: width * height, Counts: []int{0, 0, 0, 0, 0, width * height}}
	o, masks := measured(t, r, w, "loadhist", "speedindex")
	p, err := Read(t.Context(), Input{Reader: r, Outcome: o, Masks: masks, Report: told,
		Measures: []string{"loadhist", "speedindex"}})
	if err != nil {
		t.Fatal(err)
	}
	made := 0
	for _, c := range p.Checks {
		if !c.Unchecked {
			made++
		}
	}
	if made != 1 || len(p.Checks) != 4 || len(failed(p)) > 0 {
		t.Errorf("%+v", p.Checks)
	}
	told.PixelRatio = 2.625
	if p, err = Read(t.Context(), Input{Reader: r, Outcome: o, Masks: masks, Report: told,
		Measures: []string{"loadhist"}}); err != nil || len(p.Checks) != 2 || !p.Checks[1].Unchecked {
		t.Errorf("on a screen of other pixels: %+v, %v", p, err)
	}
}
