package rig

import (
	"os"

	"github.com/eideticker/eideticker/capture/frame"
	"github.com/eideticker/eideticker/codec/recording"
)

// Summarize says of a file what Record says of what it has just recorded, as far as a file can tell.
func Summarize(path string) (Result, error) {
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

// SummarizeReader adds up what an open recording holds. Sequence numbers of several segments go on from one to the next.
func SummarizeReader(r *recording.Reader) (Result, error) {
	var res Result
	n := r.Frames()
	res.Stored = uint64(n)
	for _, s := range r.Segments() {
		res.RawBytes += int64(s.Frames) * int64(s.Layout.Size)
		res.Format = s.Layout.Format
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
	}
	return res, t.Err()
}

// countGaps adds the gaps to an account that has its stored frames, first and last.
func countGaps(a *Account, gaps []recording.Gap, frames int) {
	var lost [256]uint64
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
