package result

import (
	"encoding/json"
	"fmt"

	"github.com/eideticker/eideticker/analyze"
	"github.com/eideticker/eideticker/analyze/glossary"
	"github.com/eideticker/eideticker/analyze/runfolder/staging"
)

// Write writes a results.json so that it is there as a whole or not at all. It sets schema and
// version, makes lists of those that are nil, and refuses what Decode would refuse.
func Write(path string, r *Results) error {
	b, err := Encode(r)
	if err != nil {
		return err
	}
	return staging.WriteFile(path, b, 0o644)
}

// Encode returns what Write writes.
func Encode(r *Results) ([]byte, error) {
	full, err := r.Complete()
	if err != nil {
		return nil, fmt.Errorf("write results: %w", err)
	}
	b, err := json.Marshal(full)
	if err != nil {
		return nil, fmt.Errorf("write results: %w", err)
	}
	if len(b) >= maxBytes {
		return nil, fmt.Errorf("write results: %d MiB, at most %d are read; analyze fewer frames at a time", len(b)>>20,
			maxBytes>>20)
	}
	b = append(b, '\n')
	if err := bounded(b); err != nil {
		return nil, fmt.Errorf("write results: %w", err)
	}
	return b, nil
}

// Complete returns a copy with schema, version and texts, without nil lists, or an error where
// Decode would reject it.
func (r *Results) Complete() (*Results, error) {
	full := *r
	full.Schema, full.Version = Schema, Version
	full.fill()
	return &full, full.Validate()
}

// fill makes empty lists of those that are nil. What r points to is copied before it is changed.
func (r *Results) fill() {
	if r.Environment == nil {
		r.Environment = Environment{}
	}
	s := &r.Settings
	s.Region, s.Masks, s.Measures, s.Primary = some(s.Region), some(s.Masks), some(s.Measures), some(s.Primary)
	r.Pictures, r.Notes = some(r.Pictures), some(r.Notes)
	if r.Network != nil {
		n := *r.Network
		n.List, n.ByType, n.ByDomain = some(n.List), some(n.ByType), some(n.ByDomain)
		r.Network = &n
	}
	fillResult(&r.Quality)
	if r.Vitals != nil {
		v := *r.Vitals
		v.Fill()
		fillResult(&v.Result)
		r.Vitals = &v
	}
	r.Windows = append([]Window{}, r.Windows...)
	for i := range r.Windows {
		r.Windows[i].fill()
	}
	if r.Script != nil {
		r.Script = r.Script.fill(r)
	}
	if r.Profile != nil {
		r.Profile = r.Profile.fill(r)
	}
	for i := range r.Windows {
		why := r.Script.causes(i)
		if len(why) == 0 {
			why = r.Profile.causes(i)
		}
		r.Windows[i].Answer = newAnswer(&r.Windows[i], s.Primary, why)
	}
}

func (w *Window) fill() {
	w.Region, w.Masks, w.Pictures, w.Warnings = some(w.Region), some(w.Masks), some(w.Pictures), some(w.Warnings)
	if w.Noise != nil {
		n := *w.Noise
		n.Tiles = some(n.Tiles)
		w.Noise = &n
	}
	w.Checks = append([]Check{}, w.Checks...)
	for i := range w.Checks {
		w.Checks[i].Frames = some(w.Checks[i].Frames)
		w.Checks[i].describe()
	}
	if w.Claims == nil {
		w.Claims = map[string]float64{}
	}
	t := &w.Times
	t.Time, t.Earliest, t.Latest, t.Lost = some(t.Time), some(t.Earliest), some(t.Latest), some(t.Lost)
	w.Results = append([]analyze.Result{}, w.Results...)
	for i := range w.Results {
		fillResult(&w.Results[i])
	}
	if w.Channel != nil {
		w.Channel = w.Channel.fill()
	}
	w.ClaimTexts = claimTexts(w)
}

func fillResult(r *analyze.Result) {
	r.Warnings = some(r.Warnings)
	r.Values = append([]analyze.Value{}, r.Values...)
	for i := range r.Values {
		v := &r.Values[i]
		v.Frames, v.Text, v.BoundsText = some(v.Frames), ValueText(*v), BoundsText(*v)
		about, _ := glossary.Explain(r.Measure, v.Name) // empty for a value of another program
		v.Meaning = about.Meaning
	}
	r.Series = append([]analyze.Series{}, r.Series...)
	for i := range r.Series {
		r.Series[i].Frames, r.Series[i].Values = some(r.Series[i].Frames), some(r.Series[i].Values)
	}
	r.Evidence = append([]analyze.Evidence{}, r.Evidence...)
	for i := range r.Evidence {
		r.Evidence[i].Rows, r.Evidence[i].Region = some(r.Evidence[i].Rows), some(r.Evidence[i].Region)
	}
}

// some returns the list, which is not nil then.
func some[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}
