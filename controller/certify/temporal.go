package certify

import (
	"time"

	"github.com/eideticker/eideticker/analyze/strip"
	"github.com/eideticker/eideticker/capture/frame"
	"github.com/eideticker/eideticker/capture/timeline"
)

// Temporal is what became of the pictures in time.
type Temporal struct {
	// Judged frames lie between the first and the last whose picture is known, without the picture
	// that was left standing.
	Judged int `json:"judged_frames"`
	// Whole frames of those show one picture of this run.
	Whole int `json:"whole_frames"`
	// Lost frames are missing and the recording says so, by cause.
	Lost uint64 `json:"lost_frames"`
	// Duplicates show the previous frame's picture, though its successor was on the output. For
	// OpenDuplicates, which are counted separately, the times do not decide this.
	Duplicates     int `json:"duplicate_frames"`
	OpenDuplicates int `json:"open_duplicate_frames"`
	// Dropped pictures were on the output and should have been sampled, but no frame shows them.
	// Unsampled ones are in no frame either, but were there for less than the time between two
	// samples.
	Dropped   int `json:"dropped_pictures"`
	Unsampled int `json:"unsampled_pictures"`
	// LostPictures are in no frame because of Lost.
	LostPictures int `json:"lost_pictures"`
	Reordered    int `json:"reordered_frames"` // show an older picture than a frame before them
	// Torn frames show parts of several pictures; those of TornByPlayer were sampled while a
	// picture was being put.
	Torn         int `json:"torn_frames"`
	TornByPlayer int `json:"torn_by_player_frames"`
	Unreadable   int `json:"unreadable_frames"`
	Stale        int `json:"stale_frames"`   // show a picture that was not put in this run
	Flagged      int `json:"flagged_frames"` // the driver says that they are damaged
	Blended      int `json:"blended_frames"` // show a mix of pictures
	// BlendShare is the largest share of another picture in a frame.
	BlendShare float64 `json:"blend_share"`
	// Worst is a frame with a fault, or -1.
	Worst int `json:"worst_frame"`
}

// Player is how well the player did what it was to do.
type Player struct {
	Pictures int   `json:"pictures"`
	Late     int   `json:"late_pictures"` // more than half a period after their time, or numbers that were never put
	WidthNS  int64 `json:"longest_put_ns"`
	PeriodNS int64 `json:"period_ns"`        // asked for
	MeanNS   int64 `json:"fitted_period_ns"` // as played
}

// blendLimit is the share of another picture from which on a frame counts as blended: more than
// scalers and noise leave.
const blendLimit = 0.06

// judgeTime follows the pictures through the frames.
func (e *evidence) judgeTime(shots []shot) (Temporal, Delay) {
	t := Temporal{Worst: -1}
	all := shots
	from, to := e.trim(all)
	shots = all[from:to]
	t.Judged = len(shots)
	e.slack = e.measureJitter(shots)
	j := judge{evidence: e, t: &t, shots: shots, all: all, from: from, good: make([]bool, len(shots)),
		off: make([]bool, len(shots)), seen: make([]bool, len(e.puts))}
	j.readDelays()
	for i := range shots {
		j.state(i)
	}
	j.order()
	d := e.measureDelay(j.centred, j.good)
	for i := range shots {
		if j.off[i] && j.good[i] && !j.near(i) {
			d.OffTime++
			t.mark(shots[i].frame)
		}
	}
	return t, d
}

func (t *Temporal) mark(n int) {
	if t.Worst < 0 {
		t.Worst = n
	}
}

// trim removes the frames before the first picture was replaced, and after the last was shown:
// these pictures stay. It returns the remaining frames.
func (e *evidence) trim(shots []shot) (from, to int) {
	first, last := -1, -1
	for i, s := range shots {
		if s.put < 0 {
			continue
		}
		if first < 0 && s.put > 0 {
			first = i
		}
		if s.oldest < len(e.puts)-1 {
			last = i
		}
	}
	if first < 0 || last < first {
		return e.amid(shots)
	}
	return first, last + 1
}

// amid returns the frames between the last one of the first picture and the first one of the last
// picture. Where pictures are mixed half and half, no number between those two can be read.
func (e *evidence) amid(shots []shot) (from, to int) {
	first, last := 0, len(shots)
	for i, s := range shots {
		switch {
		case s.put == 0:
			first = i + 1
		case s.put == len(e.puts)-1:
			last = min(last, i)
		}
	}
	if first >= last {
		return 0, 0
	}
	return first, last
}

// judge is one pass over the frames.
type judge struct {
	*evidence
	t             *Temporal
	shots         []shot
	all           []shot // also those before and behind that are not judged
	from          int    // where shots begin among them
	delays        []bounds
	repeats       []bool // shows the same picture as the frame before it
	centred, past []bounds
	good          []bool // shows one picture, in order
	off           []bool // at a time that the delay around it does not explain
	seen          []bool // by index in puts
	faults        []int  // shots with a fault of their own
}

// readDelays bounds the delay of each frame, and the common delay. A frame that shows the same
// picture as the previous one may be a copy. It then has the copier's delay. If every second frame
// is a copy, there are as many of those as of the others. So the delay is first taken from the
// frames with a new picture. Repeats that it explains then contribute as well.
func (j *judge) readDelays() {
	first := make([]bounds, len(j.shots))
	j.delays, j.repeats = make([]bounds, len(j.shots)), make([]bool, len(j.shots))
	before := -1 // the put of the frame before that shows one picture
	for i, s := range j.shots {
		j.delays[i], first[i] = silent(), silent()
		if !s.single() {
			continue
		}
		j.delays[i], j.repeats[i] = j.delayOf(s), s.put == before
		if !j.repeats[i] {
			first[i] = j.delays[i]
		}
		before = s.put
	}
	j.centred, j.past = around(first, j.period/8)
	for i := range j.shots {
		if j.repeats[i] && j.delays[i].low <= j.likely(j.past[i]).high+j.slack {
			first[i] = j.delays[i]
		}
	}
	j.centred, j.past = around(first, j.period/8)
}

// single reports whether the frame shows one picture of this run.
func (s shot) single() bool {
	return s.put >= 0 && s.oldest == s.put && s.state != strip.Torn && !s.stale
}

// state counts what a frame says of itself.
func (j *judge) state(i int) {
	s, t := j.shots[i], j.t
	if s.meta.Flags&frame.FlagError != 0 {
		t.Flagged++
	}
	if i > 0 {
		t.Lost += missingBefore(j.shots[i-1], s)
	}
	for p := max(0, s.oldest); p <= s.put; p++ {
		if p == s.oldest || p == s.put {
			j.seen[p] = true
		}
	}
	t.BlendShare = max(t.BlendShare, s.blend)
	if s.blend > blendLimit {
		t.Blended++
		t.mark(s.frame)
	}
	switch {
	case s.stale:
		t.Stale++
		t.mark(s.frame)
	case s.state == strip.Torn && j.midPut(i):
		t.TornByPlayer++
	case s.state == strip.Torn:
		t.Torn++
		t.mark(s.frame)
	case s.put < 0 && s.blend <= blendLimit:
		t.Unreadable++
		t.mark(s.frame)
	case s.single():
		j.good[i] = true
		t.Whole++
		core := j.likely(j.centred[i])
		j.off[i] = j.delays[i].low > core.high+j.slack || j.delays[i].high < core.low-j.slack
	}
}

// midPut reports whether a torn frame was sampled while its newer picture was being put: an output
// without vertical synchronisation tears by itself.
func (j *judge) midPut(i int) bool {
	s := j.shots[i]
	if s.put != s.oldest+1 {
		return false
	}
	at, d := j.puts[s.put].at, j.centred[i]
	if at.Width() == 0 && j.latch == 0 {
		return false // put in no time at all
	}
	return at.Earliest.Add(d.low) <= s.meta.Sampled.Latest && s.meta.Sampled.Earliest <= at.Latest.Add(j.latch+d.high)
}

// order goes from frame to frame and counts repeated, late and missing pictures.
func (j *judge) order() {
	before, newest := -1, -1 // the shot before that shows one picture; the one with the newest
	for i, s := range j.shots {
		if !j.good[i] {
			continue
		}
		if before >= 0 {
			b := j.shots[before]
			switch {
			case s.put < j.shots[newest].put:
				if s.put != b.put || !j.good[before] {
					j.t.Reordered++
					j.fault(i)
				}
			case s.put == b.put && j.duplicate(before, i):
				j.t.Duplicates++
				j.fault(i)
			case s.put == b.put && j.perhapsReplaced(i):
				j.t.OpenDuplicates++
			}
		}
		if newest < 0 || s.put > j.shots[newest].put {
			if newest >= 0 {
				j.between(newest, i)
			}
			newest = i
		}
		before = i
	}
}

func (j *judge) fault(i int) {
	j.faults = append(j.faults, i)
	j.t.mark(j.shots[i].frame)
}

// near reports whether a frame stands beside one with a fault that explains its time.
func (j *judge) near(i int) bool {
	for _, f := range j.faults {
		if f-1 <= i && i <= f+1 {
			return true
		}
	}
	return false
}

// distance bounds the time between two samples.
func distance(a, b shot) (low, high time.Duration) {
	return b.meta.Sampled.Earliest.Sub(a.meta.Sampled.Latest), b.meta.Sampled.Latest.Sub(a.meta.Sampled.Earliest)
}

// duplicate reports whether frame i, which repeats the picture of frame b, should have shown a
// newer one. Either it came too soon after, or the known delay shows that the picture had been
// replaced.
func (j *judge) duplicate(b, i int) bool {
	if _, high := distance(j.shots[b], j.shots[i]); high < j.period/2 && j.shift(i) < -j.period*3/4 {
		return true
	}
	return j.delays[i].low > j.likely(j.past[i]).high+j.slack
}

// perhapsReplaced reports whether some times within the intervals have it that the picture that
// frame i shows had been replaced.
func (j *judge) perhapsReplaced(i int) bool {
	s := j.shots[i]
	if s.put+1 >= len(j.puts) {
		return false
	}
	least := max(0, j.likely(j.past[i]).low) // no picture arrives before it is put
	return s.meta.Sampled.Latest.Sub(j.puts[s.put+1].at.Earliest) > least-j.slack
}

// between counts pictures that no frame shows, between two that frames a and b show.
func (j *judge) between(a, b int) {
	from, to := j.shots[a].put+1, j.shots[b].put
	var lost uint64
	irregular := false // a frame in between is at fault, or is hidden
	for i := a + 1; i <= b; i++ {
		lost += missingBefore(j.shots[i-1], j.shots[i])
		broken := !j.good[i] && !(j.shots[i].state == strip.Torn && j.midPut(i))
		irregular = irregular || broken || j.isFault(i) || j.shift(i) > j.period*3/4
	}
	_, longest := distance(j.shots[a], j.shots[b])
	for p := from; p < to; p++ {
		shown := j.puts[p+1].at.Earliest.Sub(j.puts[p].at.Latest.Add(j.latch))
		switch {
		case j.seen[p]:
		case lost > 0:
			lost--
			j.t.LostPictures++
		case !irregular && shown < longest: // between two samples, whose times tell
			j.t.Unsampled++
		case irregular && shown < j.period/2: // the player's: hardly there at all
			j.t.Unsampled++
		default:
			j.t.Dropped++
			j.t.mark(j.shots[b].frame)
		}
	}
}

// shift is how much later than their numbers the frames from i on come, compared with the ones
// before. It is a period if a frame is missing though the numbers continue. It is a period less if
// there is one too many. A source that was late only once catches up, and does not count. Late
// first frames may be seen in the ones before, whose picture stayed.
func (j *judge) shift(i int) time.Duration {
	const look = 8
	behind := func(from, to int) time.Duration { // the least, by the numbers
		least := endless
		for _, s := range j.all[max(0, j.from+from):min(j.from+to, len(j.all))] {
			due := time.Duration(s.meta.Sequence-j.shots[0].meta.Sequence) * j.period
			least = min(least, s.meta.Sampled.Mid().Sub(j.shots[0].meta.Sampled.Mid())-due)
		}
		return least
	}
	return behind(i, i+look) - behind(i-look, i)
}

func (j *judge) isFault(i int) bool {
	for k := len(j.faults) - 1; k >= 0; k-- {
		if j.faults[k] == i {
			return true
		}
	}
	return false
}

// judgePlayer says how the player did.
func (e *evidence) judgePlayer() Player {
	period := time.Duration(float64(e.played.PeriodNum) / float64(e.played.PeriodDen) * float64(time.Second))
	p := Player{Pictures: len(e.puts), PeriodNS: period.Nanoseconds()}
	var fit timeline.PeriodFit
	for i, v := range e.puts {
		p.WidthNS = max(p.WidthNS, v.at.Width().Nanoseconds())
		if i < 2 { // the first picture stands longer
			continue
		}
		fit.Add(uint64(v.n), v.at.Mid())
		step := v.at.Mid().Sub(e.puts[i-1].at.Mid())
		if step > period*3/2 {
			p.Late++
		}
		p.Late += v.n - e.puts[i-1].n - 1
	}
	p.MeanNS = fit.Period().Nanoseconds()
	return p
}
