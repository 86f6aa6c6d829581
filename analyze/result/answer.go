package result

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/eideticker/eideticker/analyze"
	"github.com/eideticker/eideticker/analyze/wording"
)

// Answer is what terminal, report and page show of a window before everything else.
type Answer struct {
	Sentence string   `json:"sentence"` // plain; empty where the window has no value
	Primary  []string `json:"primary"`  // names of values, such as "fps.framerate": the first ones to read
	Moments  []Moment `json:"moments"`  // to look at, in order of time
}

// Moment is a frame at which something happened.
type Moment struct {
	Frame int    `json:"frame"`
	AtNS  int64  `json:"at_ns"` // from T0, or from the window's start without one
	At    string `json:"at"`    // that time as reports print it
	What  string `json:"what"`
}

const maxMoments = 4

// NewAnswer returns the answer of a window. The declared values are those that its test names.
func NewAnswer(w *Window, declared []string) Answer { return newAnswer(w, declared, nil) }

// newAnswer returns the answer of a window. The causes of late frames are those of their scripts.
func newAnswer(w *Window, declared []string, why causes) Answer {
	a := Answer{Primary: w.primary(declared)}
	if slices.ContainsFunc(declared, isResponse) && !slices.ContainsFunc(a.Primary, isResponse) && w.missed() {
		a.Primary = []string{"response.missed"} // other values are of a picture that did not answer
	}
	if len(a.Primary) == 0 {
		return Answer{Primary: []string{}, Moments: []Moment{}}
	}
	measure, _, _ := strings.Cut(a.Primary[0], ".")
	switch measure {
	case "response":
		a.Sentence, a.Moments = w.responseSentence(why), append(w.slowAnswers(), why.moments()...)
	case "speedindex", "windowopen":
		prefix := measure + "."
		if _, ok := w.value(prefix + "first_visual_change"); !ok {
			prefix += "from_first_change."
		}
		a.Sentence = w.loadSentence(prefix, why)
		a.Moments = append(w.loadMoments(prefix), why.moments()...)
	case "fps", "scroll", "tearing", "checkerboard":
		pauses := w.pauses()
		a.Sentence = w.motionSentence(measure, pauses, why)
		a.Moments = append(pauseMoments(pauses), w.evidence(a.Primary)...)
		if measure == "tearing" || measure == "checkerboard" {
			a.Moments = append(w.evidence(a.Primary), pauseMoments(pauses)...)
		}
	default:
		v, _ := w.value(a.Primary[0])
		a.Sentence = capital(strings.ReplaceAll(v.Name, "_", " ")) + ": " + ValueText(v) + "."
		a.Moments = append(w.evidence(a.Primary), why.moments()...)
	}
	a.Moments = w.chosen(a.Moments)
	return a
}

// chosen returns the first moments in order of time. Those of one frame become one.
func (w *Window) chosen(all []Moment) []Moment {
	moments := []Moment{}
	for _, m := range all {
		if i := slices.IndexFunc(moments, func(o Moment) bool { return o.Frame == m.Frame }); i >= 0 {
			moments[i].What += "; " + m.What
			continue
		}
		if len(moments) < maxMoments {
			m.AtNS = w.since(m.Frame)
			m.At = seconds(m.AtNS, 3)
			moments = append(moments, m)
		}
	}
	slices.SortStableFunc(moments, func(a, b Moment) int { return cmp.Compare(a.Frame, b.Frame) })
	return moments
}

// since returns a frame's time from T0, or from the window's start. It is 0 for a frame without a
// time.
func (w *Window) since(frame int) int64 {
	i := frame - w.Times.First
	if i < 0 || i >= len(w.Times.Time) {
		return 0
	}
	at := w.Times.Time[i]
	if w.T0 != nil {
		at += w.StartNS - w.T0.AtNS
	}
	return at
}

func isResponse(name string) bool { return strings.HasPrefix(name, "response.") }

// missed reports if a ping had no answer.
func (w *Window) missed() bool {
	missed, ok := w.value("response.missed")
	return ok && missed.Value > 0
}

func (w *Window) responseSentence(why causes) string {
	median, p95 := w.ms("response.latency_p50"), w.ms("response.latency_p95")
	pings, _ := w.value("response.pings")
	if median == "" {
		return "No answer came."
	}
	if pings.Value == 1 {
		cause := w.slowestCause(why)
		text := "The answer came after " + median + cause
		complete := w.ms("speedindex.pixel.complete_100")
		if answers, ok := w.series("response", "latency"); ok && len(answers.Frames) == 1 {
			late := w.restCause(why, "speedindex.", answers.Frames[0], answers.Values[0])
			if late != "" {
				return fmt.Sprintf("The answer came after %s, and the picture was complete after %s%s.", median,
					complete, late)
			}
		}
		if complete != "" {
			text += map[bool]string{true: ", and", false: ";"}[cause == ""]
			text += " the picture was complete after " + complete
		}
		return text + "."
	}
	text := fmt.Sprintf("The median answer came after %s", median)
	if p95 != "" {
		text += fmt.Sprintf(", and 95 %% of the answers within %s", p95)
	}
	if cause := w.slowestCause(why); cause != "" {
		text += "; the slowest took " + w.ms("response.latency_max") + cause
	}
	if missed, _ := w.value("response.missed"); w.missed() {
		text += fmt.Sprintf("; %s of %s had no answer", wording.Number(missed.Value), ValueText(pings))
	}
	return text + "."
}

// restCause returns the cause of the worst late frame between a first change and the complete
// picture, behind a colon. The change is in a frame, and came after a time in ms. The cause is
// empty if that frame waited for less than the change, or than half of the time after it.
func (w *Window) restCause(why causes, prefix string, first int, after float64) string {
	complete, ok := w.value(prefix + "pixel.complete_100")
	if !ok || len(complete.Frames) == 0 {
		return ""
	}
	for _, c := range why { // the longest is first
		if c.frame > first && c.frame <= complete.Frames[0] {
			if c.ms < max(after, (complete.Value-after)/2) {
				return ""
			}
			return ": " + c.text + " of it"
		}
	}
	return ""
}

func (w *Window) loadSentence(prefix string, why causes) string {
	first, complete := w.ms(prefix+"first_visual_change"), w.ms(prefix+"pixel.complete_100")
	late, early, at := "", "", -1
	if change, ok := w.value(prefix + "first_visual_change"); ok && len(change.Frames) > 0 {
		at = change.Frames[0]
		late = w.restCause(why, prefix, at, change.Value)
		early = why.of(at, change.Value)
	}
	whole, _ := w.value(prefix + "pixel.complete_100")
	switch {
	case at >= 0 && slices.Equal(whole.Frames, []int{at}):
		return fmt.Sprintf("The picture was complete with its first change, after %s%s.", first, early)
	case late != "":
		return fmt.Sprintf("The first change came after %s, and the picture was complete after %s%s.", first,
			complete, late)
	case early != "" && complete != "":
		return fmt.Sprintf("The first change came after %s%s; the picture was complete after %s.", first, early,
			complete)
	case first != "" && complete != "":
		return fmt.Sprintf("The first change came after %s, and the picture was complete after %s.", first, complete)
	case complete != "":
		return fmt.Sprintf("The picture was complete %s after its first change.", complete)
	case first != "":
		return fmt.Sprintf("The first change came after %s%s.", first, early)
	}
	return ""
}

// motionSentence is about torn frames and undrawn areas where a test is about these, else about
// dropped frames.
func (w *Window) motionSentence(measure string, pauses []pause, why causes) string {
	var parts []string
	if free, ok := w.value("checkerboard.checkerboard_free"); ok && measure == "checkerboard" {
		parts = append(parts, fmt.Sprintf("%.3g %% of the frames had undrawn areas", 100*(1-free.Value)))
	}
	if torn, ok := w.value("tearing.torn_frames"); ok && (torn.Value > 0 || measure == "tearing") {
		parts = append(parts, fmt.Sprintf("%s of %s are torn", none(torn.Value),
			wording.Plural(w.End-w.Start+1, "frame")))
	}
	if measure == "fps" || measure == "scroll" {
		parts = slices.Insert(parts, 0, w.droppedText())
	}
	switch long := longPauses(pauses); {
	case len(long) > 0:
		parts = append(parts, fmt.Sprintf("the worst pause was %s, at %s", span(long[0].ms),
			seconds(w.since(long[0].frame), 1))+why.of(long[0].next, long[0].ms))
	case len(pauses) > 0:
		parts = append(parts, "no frame stood for more than "+span(pauses[0].ms))
	}
	parts = slices.DeleteFunc(parts, func(s string) bool { return s == "" })
	if len(parts) == 0 {
		return ""
	}
	return capital(strings.Join(parts, "; ")) + "."
}

func (w *Window) droppedText() string {
	what := "the animation"
	if _, ok := w.value("scroll.framerate"); ok {
		what = "scrolling"
	}
	dropped, ok := w.value("fps.dropped_frames")
	drawn, known := w.value("fps.drawn_frames")
	switch rate, measured := w.value("fps.framerate"); {
	case ok && known:
		return fmt.Sprintf("%s dropped %s of %s", what, none(dropped.Value), ValueText(drawn))
	case ok && dropped.Value > 0:
		return what + " dropped " + ValueText(dropped)
	case measured:
		return what + " showed " + ValueText(rate)
	}
	return ""
}

// slowestCause returns the cause of the slowest answer behind a colon.
func (w *Window) slowestCause(why causes) string {
	latency, ok := w.series("response", "latency")
	if !ok || len(latency.Frames) == 0 {
		return ""
	}
	slowest := 0
	for i, v := range latency.Values {
		if v > latency.Values[slowest] {
			slowest = i
		}
	}
	return why.of(latency.Frames[slowest], latency.Values[slowest])
}

// ms returns the text of a value in milliseconds, or "".
func (w *Window) ms(name string) string {
	v, ok := w.value(name)
	if !ok {
		return ""
	}
	return span(v.Value)
}

// none returns a count, and "none" for 0.
func none(n float64) string {
	if n == 0 {
		return "none"
	}
	return wording.Number(n)
}

// span returns a time as people say it.
func span(ms float64) string {
	switch {
	case math.Abs(ms) < 10:
		return fmt.Sprintf("%.1f ms", ms)
	case math.Abs(ms) < 1000:
		return fmt.Sprintf("%.0f ms", ms)
	}
	return fmt.Sprintf("%.2f s", ms/1000)
}

func seconds(ns int64, digits int) string {
	return strings.Replace(fmt.Sprintf("%.*f s", digits, float64(ns)/float64(time.Second)), "-", "−", 1)
}

func capital(s string) string { return strings.ToUpper(s[:1]) + s[1:] }

// pause is a frame that stood for a while.
type pause struct {
	frame int
	next  int // the frame that ended it; -1 unknown
	ms    float64
}

// pauses returns the times for which frames stood, longest first. In a scroll it leaves out the
// time before the content moves and after it stops.
func (w *Window) pauses() (all []pause) {
	times, ok := w.series("fps", "frame_time")
	if !ok {
		return nil
	}
	from, to := math.MinInt, math.MaxInt
	if moves, ok := w.series("scroll", "speed"); ok && len(moves.Frames) > 0 {
		from, to = moves.Frames[0], moves.Frames[len(moves.Frames)-1]-1
	}
	for i, n := range times.Frames {
		if n >= from && n <= to {
			next := -1
			if i+1 < len(times.Frames) {
				next = times.Frames[i+1]
			}
			all = append(all, pause{n, next, times.Values[i]})
		}
	}
	slices.SortStableFunc(all, func(a, b pause) int { return cmp.Compare(b.ms, a.ms) })
	return all
}

// longPauses returns those that are longer than half of all, by more than half.
func longPauses(all []pause) []pause {
	n := slices.IndexFunc(all, func(p pause) bool { return p.ms <= 1.5*all[len(all)/2].ms })
	return all[:max(n, 0)]
}

// pauseMoments returns where the two longest pauses begin.
func pauseMoments(all []pause) (moments []Moment) {
	long := longPauses(all)
	for _, p := range long[:min(2, len(long))] {
		moments = append(moments, Moment{Frame: p.frame, What: "a pause of " + span(p.ms) + " begins"})
	}
	return moments
}

// loadMoments are the first change, the largest one, and the last.
func (w *Window) loadMoments(prefix string) (moments []Moment) {
	add := func(name, what string) {
		if v, ok := w.value(prefix + name); ok && len(v.Frames) > 0 {
			moments = append(moments, Moment{Frame: v.Frames[0], What: what})
		}
	}
	add("first_visual_change", "the first change")
	add("pixel.complete_100", "the picture is complete")
	measure, _, _ := strings.Cut(prefix, ".")
	progress, ok := w.series(measure, "pixel.progress")
	if !ok {
		return moments
	}
	at, most := 0, 0.0
	for i := 1; i < len(progress.Frames); i++ {
		if d := progress.Values[i] - progress.Values[i-1]; d > most {
			at, most = i, d
		}
	}
	if most == 0 {
		return moments
	}
	return append(moments, Moment{Frame: progress.Frames[at],
		What: fmt.Sprintf("the largest change: %.0f %% of the picture", 100*most)})
}

// slowAnswers are the three that took longest.
func (w *Window) slowAnswers() (moments []Moment) {
	latency, ok := w.series("response", "latency")
	if !ok {
		return nil
	}
	order := make([]int, len(latency.Frames))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(latency.Values[b], latency.Values[a]) })
	for i, at := range order[:min(3, len(order))] {
		what := "an answer after "
		if i == 0 {
			what = "the slowest answer, after "
		}
		moments = append(moments, Moment{Frame: latency.Frames[at], What: what + span(latency.Values[at])})
	}
	return moments
}

// evidence is the first of each kind from the measures of primary values, and torn frames.
func (w *Window) evidence(primary []string) (moments []Moment) {
	for i := range w.Results {
		r := &w.Results[i]
		of := func(name string) bool { return strings.HasPrefix(name, r.Measure+".") }
		seen := map[string]bool{}
		for _, e := range r.Evidence {
			if !seen[e.Kind] && (e.Kind == "torn" || slices.ContainsFunc(primary, of) && w.visible(e)) {
				moments = append(moments, Moment{Frame: e.Frame, What: e.Kind + ": " + e.Text})
			}
			seen[e.Kind] = true
		}
	}
	return moments
}

// visible reports whether evidence shows more than content as it should be.
func (w *Window) visible(e analyze.Evidence) bool {
	off, _ := w.value("scroll.motion_error_max")
	return e.Kind != "motion" || off.Low >= 1
}

// series returns the series of a measure if it is whole.
func (w *Window) series(measure, name string) (analyze.Series, bool) {
	for i := range w.Results {
		if w.Results[i].Measure != measure {
			continue
		}
		for _, s := range w.Results[i].Series {
			if s.Name == name && len(s.Frames) == len(s.Values) {
				return s, true
			}
		}
	}
	return analyze.Series{}, false
}
