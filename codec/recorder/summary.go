package recorder

import (
	"encoding/json"
	"os"
	"time"

	"github.com/eideticker/eideticker/capture"
	"github.com/eideticker/eideticker/capture/frame"
	"github.com/eideticker/eideticker/codec/recording"
)

// summarize returns the result of Record for an existing file, as far as the file contains it.
func summarize(path string) (Result, error) {
	r, err := recording.Open(path)
	if err != nil {
		return Result{}, err
	}
	defer r.Close() // was only read
	res, err := SummarizeReader(r)
	if err != nil {
		return Result{}, err
	}
	res.Path = path
	if st, err := os.Stat(path); err == nil {
		res.Bytes = st.Size()
	}
	return res, nil
}

// SummarizeReader adds up what an open recording holds. Sequence numbers of several segments go on
// from one to the next.
func SummarizeReader(r *recording.Reader) (Result, error) {
	var res Result
	n := r.Frames()
	res.Stored = uint64(n)
	res.Clocked = clocked(r)
	var err error
	if res.Segments, err = segments(r); err != nil {
		return res, err
	}
	for _, s := range r.Segments() {
		res.RawBytes += int64(s.Frames) * int64(s.Layout.Size)
	}
	if len(res.Segments) > 0 {
		res.Format = res.Segments[0].Format
	}
	if n > 0 {
		first, err := r.Meta(0)
		if err != nil {
			return res, err
		}
		last, err := r.Meta(n - 1)
		if err != nil {
			return res, err
		}
		res.First, res.Last = first.Sequence, last.Sequence
		res.Span = last.Sampled.Mid().Sub(first.Sampled.Mid())
	}
	countGaps(&res.Account, r.Gaps(), n)
	t := r.Timeline(0, n)
	for t.Next() {
		if t.Number() == 0 || len(t.Change().Spans) > 0 {
			res.Unique++
		}
		if t.Meta().Flags&frame.FlagError != 0 {
			res.Flagged++
		}
	}
	return res, t.Err()
}

// clocked reports whether the recording says that its source ran on the clock.
func clocked(r *recording.Reader) bool {
	for _, m := range r.Metadata() {
		var about sourceMetadata
		if m.Name == sourceMetadataName && json.Unmarshal(m.Value, &about) == nil {
			return about.Clocked
		}
	}
	return false
}

// segments says what a recording holds of each format.
func segments(r *recording.Reader) ([]Segment, error) {
	var all []Segment
	for _, s := range r.Segments() {
		seg := Segment{
			Format: s.Layout.Format, First: s.First, Frames: s.Frames,
			Period: capture.Rational{Num: s.PeriodNum, Den: s.PeriodDen}, FemtoPeriod: s.FemtoPeriod,
		}
		if s.Frames > 0 {
			span, err := spanOf(r, s.First, s.First+s.Frames)
			if err != nil {
				return nil, err
			}
			seg.Span = span
		}
		all = append(all, seg)
	}
	return all, nil
}

// spanOf is the time from the first to the last of some frames.
func spanOf(r *recording.Reader, from, to int) (time.Duration, error) {
	first, err := r.Meta(from)
	if err != nil {
		return 0, err
	}
	last, err := r.Meta(to - 1)
	return last.Sampled.Mid().Sub(first.Sampled.Mid()), err
}

// countGaps adds the gaps to an account that has its stored frames, first and last.
func countGaps(a *Account, gaps []recording.Gap, frames int) {
	var lost [causes]uint64
	for i, g := range gaps {
		lost[g.Cause] += g.Count
		if (frames == 0 && i == 0) || g.First < a.First {
			a.First = g.First
		}
		a.Last = max(a.Last, g.First+g.Count-1)
	}
	for cause, n := range lost {
		if n > 0 {
			a.Lost = append(a.Lost, Loss{frame.Cause(cause), n})
			a.Missing += n
		}
	}
	if a.Stored+a.Missing > 0 {
		a.Total = a.Last - a.First + 1
	}
}
