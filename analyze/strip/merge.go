package strip

import (
	"cmp"
	"slices"
)

// Merge adds the account of the frames that follow: afterwards a says what one account would that
// had taken the frames of both. Both must be of one page. What b says is not changed, and b must
// not be added to any more.
func (a *Account) Merge(b *Account) {
	s, t := &a.sum, b.sum
	if b.haveLast && a.haveLast {
		first := b.first
		first.behind = first.behind || a.missing
		t.rejudge(a, first)
	}
	s.Frames += t.Frames
	s.Changed += t.Changed
	s.Whole += t.Whole
	s.Partial += t.Partial
	s.Torn += t.Torn
	s.Unreadable += t.Unreadable
	s.Foreign += t.Foreign
	s.Repeated += t.Repeated
	s.Unsure += t.Unsure
	s.Truncated = s.Truncated || t.Truncated
	for _, d := range t.Disagree {
		s.Disagree = keep(s.Disagree, d, &s.Truncated)
	}
	for _, n := range t.OutOfOrder {
		s.OutOfOrder = keep(s.OutOfOrder, n, &s.Truncated)
	}
	for _, v := range b.sightings(func(p, q Sighting) int {
		return cmp.Or(cmp.Compare(p.First, q.First),
			cmp.Compare(p.ID, q.ID))
	}) {
		a.note(v)
	}
	if !b.haveLast {
		a.missing = a.missing || b.missing
		return
	}
	if !a.haveLast {
		a.first = b.first
		a.first.behind = a.first.behind || a.missing
	}
	a.last, a.haveLast, a.missing = b.last, true, b.missing
}

// rejudge judges the first frame of an account anew, now that one is known that stands before it.
func (s *Summary) rejudge(before *Account, first arrival) {
	disagree, backward := s.Disagree, s.OutOfOrder
	if !first.changed { // nothing stood before it, so it did not repeat: judged to disagree
		disagree = disagree[1:]
	}
	part := Account{last: before.last, haveLast: true}
	part.judge(first)
	s.Repeated += part.sum.Repeated
	s.Unsure += part.sum.Unsure
	s.Disagree = append(part.sum.Disagree, disagree...)
	s.OutOfOrder = append(part.sum.OutOfOrder, backward...)
}

// sightings returns all ids in the given order.
func (a *Account) sightings(order func(p, q Sighting) int) []Sighting {
	all := make([]Sighting, 0, len(a.seen))
	for _, v := range a.seen {
		all = append(all, *v)
	}
	slices.SortFunc(all, order)
	return all
}
