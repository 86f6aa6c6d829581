package result

import (
	"encoding/json"
	"fmt"
	"reflect"

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
	full := clone(r)
	full.Schema, full.Version = Schema, Version
	full.fill()
	return full, full.Validate()
}

// clone returns a copy that shares lists of numbers and texts only. Nil lists and maps are empty.
func clone[T any](of *T) *T {
	v := reflect.ValueOf(&of).Elem()
	own(v)
	return of
}

func own(v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			c := reflect.New(v.Type().Elem())
			c.Elem().Set(v.Elem())
			own(c.Elem())
			v.Set(c)
		}
	case reflect.Map:
		if v.IsNil() {
			v.Set(reflect.MakeMap(v.Type()))
		}
	case reflect.Slice:
		if n := v.Len(); n == 0 || hasStructs(v.Type()) {
			c := reflect.MakeSlice(v.Type(), n, n)
			reflect.Copy(c, v)
			v.Set(c)
			for i := range n {
				own(c.Index(i))
			}
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).Tag.Get("json") != "-" {
				own(v.Field(i))
			}
		}
	}
}

// fill writes the texts.
func (r *Results) fill() {
	fillResult(&r.Quality)
	if r.Vitals != nil {
		r.Vitals.Fill()
		fillResult(&r.Vitals.Result)
	}
	for i := range r.Windows {
		r.Windows[i].fill()
	}
	if r.Script != nil {
		r.Script.fill(r)
	}
	if r.Profile != nil {
		r.Profile.fill(r)
	}
	for i := range r.Windows {
		r.Windows[i].Answer = newAnswer(&r.Windows[i], r.Settings.Primary, r.causes(i))
	}
}

func (w *Window) fill() {
	for i := range w.Checks {
		w.Checks[i].describe()
	}
	for i := range w.Results {
		fillResult(&w.Results[i])
	}
	if w.Channel != nil {
		w.Channel.fill()
	}
	w.ClaimTexts = claimTexts(w)
}

func fillResult(r *analyze.Result) {
	for i := range r.Values {
		v := &r.Values[i]
		v.Text, v.BoundsText = ValueText(*v), BoundsText(*v)
		about, _ := glossary.Explain(r.Measure, v.Name) // empty for a value of another program
		v.Meaning = about.Meaning
	}
}
