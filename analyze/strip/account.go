package strip

import (
	"cmp"
	"slices"
)

// maxListed bounds each list of a summary, so that a hostile recording cannot grow it without end.
const maxListed = 10000

// Account keeps the books of one page: which of its drawn frames were seen, for how long, and in
// what order. Feed it every frame from the first content frame to the last.
type Account struct {
	page     uint8
	sum      Summary
	seen     map[uint32]*Sighting
	first    arrival // the first frame of the page
	last     uint32  // newest id of the last frame of the page
	haveLast bool
	missing  bool // frames behind that one
}

// arrival is what a frame of the page is judged by, together with the one before it.
type arrival struct {
	frame   int
	changed bool
	torn    bool
	id      uint32 // of the topmost copy that can be read
	behind  bool   // frames are missing before it
	newest  uint32 // among its copies: in a torn frame, the one that was coming
}

// Sighting is one drawn frame as the recorder saw it.
type Sighting struct {
	ID     uint32 `json:"id"`
	First  int    `json:"first_frame"` // first frame in which any copy says the id
	Last   int    `json:"last_frame"`
	Frames int    `json:"frames"` // in how many frames at least one copy says the id
	Copies int    `json:"copies"` // the most copies of one frame that say it; fewer than Copies: a runt
}

// Disagreement is a frame about which the pixels and the strip say different things.
type Disagreement struct {
	Frame   int    `json:"frame"`
	Changed bool   `json:"changed"` // the pixels differ from the frame before
	ID      uint32 `json:"id"`      // what the strip says
}

// Summary is what an account comes to.
type Summary struct {
	Page       uint8 `json:"page"`
	Frames     int   `json:"frames"`     // all frames that were added
	Changed    int   `json:"changed"`    // frames whose pixels differ from the frame before
	Whole      int   `json:"whole"`      // frames whose copies all say the same
	Partial    int   `json:"partial"`    // frames with copies that cannot be read
	Torn       int   `json:"torn"`       // frames whose copies disagree
	Unreadable int   `json:"unreadable"` // frames without a readable copy
	Foreign    int   `json:"foreign"`    // frames with the strip of another page
	Repeated   int   `json:"repeated"`   // frames that show only ids that the frame before showed too
	// of these, those before which frames are missing, that may have shown something else
	Unsure   int `json:"unsure"`
	Distinct int `json:"distinct"` // ids seen, whole or not

	Drawn      int            `json:"drawn"`        // ids that the page says it drew; 0 where it did not say
	Runts      []uint32       `json:"runts"`        // ids that no frame shows in all copies
	Unseen     []uint32       `json:"unseen"`       // ids drawn and never seen
	Undrawn    []uint32       `json:"undrawn"`      // ids seen that the page does not say it drew
	OutOfOrder []int          `json:"out_of_order"` // frames that show an older id than the frame before them
	Disagree   []Disagreement `json:"disagree"`     // frames that differ without a new id, or the reverse
	Sightings  []Sighting     `json:"sightings"`    // by id, as it stands there
	Truncated  bool           `json:"truncated"`    // a list would have grown beyond 10,000 entries
}

// NewAccount returns an empty account for the page with this number.
func NewAccount(page uint8) *Account {
	return &Account{page: page, sum: Summary{Page: page}, seen: map[uint32]*Sighting{}}
}

// Missing says that frames are missing before the next one.
func (a *Account) Missing() { a.missing = true }

// Add takes the next frame: its number, whether its pixels differ from the frame before, and what
// its strip says.
func (a *Account) Add(n int, changed bool, r Reading) {
	s := &a.sum
	s.Frames++
	if changed {
		s.Changed++
	}
	switch r.State {
	case None:
		s.Unreadable++
		a.missing = true
		return
	case Whole:
		s.Whole++
	case Partial:
		s.Partial++
	case Torn:
		s.Torn++
	}
	if foreign(a.page, r) {
		s.Foreign++
		a.missing = true
		return
	}
	a.sight(n, r)
	at := arrival{frame: n, changed: changed, torn: r.State == Torn, id: r.Code.ID, newest: newestID(r),
		behind: a.missing}
	if !a.haveLast {
		a.first = at
	}
	a.judge(at)
	a.last, a.haveLast, a.missing = at.newest, true, false
}

// judge holds a frame against the one before it.
func (a *Account) judge(at arrival) {
	s := &a.sum
	repeats := a.repeats(at)
	if repeats {
		s.Repeated++
		if at.behind {
			s.Unsure++
		}
	}
	if repeats == at.changed {
		s.Disagree = keep(s.Disagree, at.disagreement(), &s.Truncated)
	}
	if a.backward(at) {
		s.OutOfOrder = keep(s.OutOfOrder, at.frame, &s.Truncated)
	}
}

// repeats reports whether a frame shows only what the one before it showed last.
func (a *Account) repeats(at arrival) bool { return a.haveLast && !at.torn && at.id == a.last }

// backward reports whether a frame shows only ids older than one that was there before.
func (a *Account) backward(at arrival) bool { return a.haveLast && newer(a.last, at.newest) }

// newer reports whether an id was drawn behind another one. Ids are counted modulo [Modulus]: of
// two, the newer is the one that less than half of all ids lie before.
func newer(id, than uint32) bool {
	ahead := (id - than) % Modulus
	return ahead > 0 && ahead < Modulus/2
}

func (at arrival) disagreement() Disagreement {
	return Disagreement{Frame: at.frame, Changed: at.changed, ID: at.id}
}

// foreign reports whether any copy belongs to another page.
func foreign(page uint8, r Reading) bool {
	for _, c := range r.Copies {
		if c.OK && c.Code.Page() != page {
			return true
		}
	}
	return false
}

// newestID returns the newest id among the readable copies: in a torn frame, the one that was
// coming.
func newestID(r Reading) uint32 {
	id := r.Code.ID
	for _, c := range r.Copies {
		if c.OK && newer(c.Code.ID, id) {
			id = c.Code.ID
		}
	}
	return id
}

// sight notes each id of a frame.
func (a *Account) sight(n int, r Reading) {
	for i, c := range r.Copies {
		if !c.OK || slices.ContainsFunc(r.Copies[:i], func(p Copy) bool { return p.OK && p.Code.ID == c.Code.ID }) {
			continue
		}
		copies := 0
		for _, p := range r.Copies[i:] {
			if p.OK && p.Code.ID == c.Code.ID {
				copies++
			}
		}
		a.note(Sighting{ID: c.Code.ID, First: n, Last: n, Frames: 1, Copies: copies})
	}
}

// note adds frames in which an id was seen, all behind those in which it was seen before.
func (a *Account) note(more Sighting) {
	s := a.seen[more.ID]
	if s == nil {
		if len(a.seen) >= maxListed {
			a.sum.Truncated = true
			return
		}
		a.seen[more.ID] = &more
		return
	}
	s.Last = more.Last
	s.Frames += more.Frames
	s.Copies = max(s.Copies, more.Copies)
}

func keep[T any](list []T, v T, truncated *bool) []T {
	if len(list) >= maxListed {
		*truncated = true
		return list
	}
	return append(list, v)
}

// Close returns the summary. drawn are the ids that the page says it drew, in any order, or nil
// where it did not say. The account may be added to and closed again.
func (a *Account) Close(drawn []uint32) Summary {
	s := a.sum
	s.Distinct = len(a.seen)
	s.Sightings = a.sightings(func(p, q Sighting) int { return cmp.Compare(p.ID, q.ID) })
	s.Runts = []uint32{}
	for _, v := range s.Sightings {
		if v.Copies < Copies {
			s.Runts = append(s.Runts, v.ID)
		}
	}
	s.OutOfOrder = append([]int{}, s.OutOfOrder...)
	s.Disagree = append([]Disagreement{}, s.Disagree...)
	s.Unseen, s.Undrawn = []uint32{}, []uint32{}
	if drawn != nil {
		s.compare(drawn)
	}
	return s
}

// compare holds the ids that were seen against those that were drawn.
func (s *Summary) compare(drawn []uint32) {
	was := make(map[uint32]bool, len(drawn))
	for _, id := range drawn {
		was[id%Modulus] = true
	}
	s.Drawn = len(was)
	saw := make(map[uint32]bool, len(s.Sightings))
	for _, v := range s.Sightings {
		saw[v.ID] = true
		if !was[v.ID] {
			s.Undrawn = append(s.Undrawn, v.ID)
		}
	}
	for id := range was {
		if !saw[id] {
			s.Unseen = keep(s.Unseen, id, &s.Truncated)
		}
	}
	slices.Sort(s.Unseen)
}
