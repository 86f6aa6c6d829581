package replay

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// Large JSON is read value by value, which bounds the memory.

var errLong = errors.New("it is longer than may be")

// budgetReader bounds what a file may have in all, and one value of it.
type budgetReader struct {
	r        io.Reader
	all, one int64 // left
}

func (b *budgetReader) Read(p []byte) (int, error) {
	if b.all <= 0 || b.one <= 0 {
		return 0, errLong
	}
	n, err := b.r.Read(p[:min(int64(len(p)), b.all, b.one)])
	b.all, b.one = b.all-int64(n), b.one-int64(n)
	return n, err
}

// value begins the next one.
func (b *budgetReader) value(l Limits) {
	b.one = 6*(l.Body+maxRequestBody+4*int64(l.Header)) + 4<<20
}

// walk goes through an object; null is an empty one. For each field, at tells whether it is an
// object to go into; if not, at has read it.
func walk(d *json.Decoder, b *budgetReader, l Limits, at func(path []string) (into bool, err error)) error {
	return walkIn(d, b, l, nil, at)
}

func walkIn(d *json.Decoder, b *budgetReader, l Limits, path []string,
	at func(path []string) (into bool, err error)) error {
	b.value(l)
	if there, err := opens(d, '{'); err != nil || !there {
		return err
	}
	for d.More() {
		b.value(l)
		t, err := d.Token()
		if err != nil {
			return err
		}
		name, _ := t.(string)
		here := append(path[:len(path):len(path)], name)
		into, err := at(here)
		if err == nil && into {
			err = walkIn(d, b, l, here, at)
		}
		if err != nil {
			return err
		}
	}
	_, err := d.Token()
	return err
}

// elements goes through an array; null has none. next reads one element, the i-th from 1.
func elements(d *json.Decoder, b *budgetReader, l Limits, next func(i int) error) error {
	b.value(l)
	if there, err := opens(d, '['); err != nil || !there {
		return err
	}
	for i := 1; d.More(); i++ {
		b.value(l)
		if err := next(i); err != nil {
			return fmt.Errorf("the %d. of a list: %w", i, err)
		}
	}
	_, err := d.Token()
	return err
}

// opens reads what an object or an array begins with; there is none where null stands.
func opens(d *json.Decoder, want json.Delim) (there bool, err error) {
	t, err := d.Token()
	if err != nil || t == nil {
		return false, err
	}
	if t != want {
		return false, fmt.Errorf("at byte %d stands %v in place of %v", d.InputOffset(), t, want)
	}
	return true, nil
}

// skip passes over a value.
func skip(d *json.Decoder) error {
	var v json.RawMessage
	return d.Decode(&v)
}
