package filmtest

import (
	"iter"

	"github.com/eideticker/eideticker/capture/frame"
	"github.com/eideticker/eideticker/codec/rowdelta"
)

// Coded is a film whose changes are those that the codec finds, rows that moved among them.
type Coded struct {
	*Film
	Found []*frame.Change
}

// NewCoded finds the changes of a film.
func NewCoded(m *Film) *Coded {
	c := &Coded{Film: m}
	e := rowdelta.NewEncoder(m.Layout)
	var d rowdelta.Delta
	for n := range m.Pix {
		var before []byte
		if n > 0 {
			before = m.Pix[n-1]
		}
		e.Encode(before, m.Pix[n], &d, 0)
		change := new(frame.Change)
		d.Change(change)
		c.Found = append(c.Found, change)
	}
	return c
}

func (m *Coded) Changes(from, to int) iter.Seq2[*frame.Step, error] { return m.with(from, to, false) }
func (m *Coded) Steps(from, to int) iter.Seq2[*frame.Step, error]   { return m.with(from, to, true) }

func (m *Coded) with(from, to int, pixels bool) iter.Seq2[*frame.Step, error] {
	return func(yield func(*frame.Step, error) bool) {
		for step, err := range m.Play(from, to, pixels) {
			step.Change = m.Found[step.Number]
			if !yield(step, err) {
				return
			}
		}
	}
}
