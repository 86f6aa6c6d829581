package sched

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/eideticker/eideticker/analyze/wording"
)

// Bounds of needs. maxLabel is in bytes, of a key or a value.
const (
	maxTerms  = 16
	maxValues = 32
	maxLabel  = 128
)

// Term is a label that a device must have, with one of the values.
type Term struct {
	Key    string
	Values []string
}

// Needs is a conjunction of terms, sorted by key. Empty needs fit every device.
type Needs []Term

// ParseNeeds reads terms such as model=pixel7 and os=linux,android.
func ParseNeeds(terms []string) (Needs, error) {
	if len(terms) > maxTerms {
		return nil, fmt.Errorf("needs: %d terms must be at most %d", len(terms), maxTerms)
	}
	var needs Needs
	for _, text := range terms {
		key, list, ok := strings.Cut(text, "=")
		if key = strings.TrimSpace(key); !ok || !isWord(key) {
			return nil, fmt.Errorf("needs %.80q: must be KEY=VALUE or KEY=VALUE,VALUE", text)
		}
		values := strings.Split(list, ",")
		if len(values) > maxValues {
			return nil, fmt.Errorf("needs %s: %d values must be at most %d", key, len(values), maxValues)
		}
		for i, v := range values {
			if values[i] = strings.TrimSpace(v); !isWord(values[i]) {
				return nil, fmt.Errorf("needs %s: value %.80q must have 1 to %d printable characters without =",
					key, v, maxLabel)
			}
		}
		slices.Sort(values)
		needs = append(needs, Term{key, slices.Compact(values)})
	}
	slices.SortFunc(needs, func(a, b Term) int { return cmp.Compare(a.String(), b.String()) })
	return needs, nil
}

func isWord(s string) bool {
	return s != "" && len(s) <= maxLabel && !strings.ContainsFunc(s, func(r rune) bool {
		return r < ' ' || r == 0x7f || r == '=' || r == 0xfffd
	})
}

// String returns the canonical form, "model=pixel7 and os=android,linux".
func (n Needs) String() string {
	terms := make([]string, len(n))
	for i, t := range n {
		terms[i] = t.String()
	}
	return strings.Join(terms, " and ")
}

func (t Term) String() string { return t.Key + "=" + strings.Join(t.Values, ",") }

// Fits reports whether a device with these labels satisfies all terms. A label may be a list, such
// as the browsers of a device. One fitting value is enough.
func (n Needs) Fits(labels map[string]string) bool {
	for _, t := range n {
		if !t.fits(labels[t.Key]) {
			return false
		}
	}
	return true
}

func (t Term) fits(label string) bool {
	for more := label != ""; more; {
		var value string
		if value, label, more = strings.Cut(label, ","); slices.Contains(t.Values, value) {
			return true
		}
	}
	return false
}

// unfit explains why needs fit none of the devices. It names the nearest labels.
func (n Needs) unfit(devices []*device) error {
	if len(devices) == 0 {
		return errors.New("the fleet has no device")
	}
	for _, t := range n {
		var keys, there []string
		for _, d := range devices {
			for key, label := range d.Labels {
				if keys = append(keys, key); key == t.Key && label != "" {
					there = append(there, strings.Split(label, ",")...)
				}
			}
		}
		if len(there) == 0 {
			return fmt.Errorf("no device has a label %s; there are %s", t.Key, few(keys, t.Key))
		}
		if !t.fits(strings.Join(there, ",")) {
			return fmt.Errorf("no device has %s; there are %s", t, few(there, t.Values[0]))
		}
	}
	missing := func(d *device) Needs {
		return slices.DeleteFunc(slices.Clone(n), func(t Term) bool { return t.fits(d.Labels[t.Key]) })
	}
	near := slices.MinFunc(devices, func(a, b *device) int { return len(missing(a)) - len(missing(b)) })
	key := missing(near)[0].Key
	return fmt.Errorf("no device has %s; %s has %s=%s", n, near.id, key, near.Labels[key])
}

// few lists labels, the nearest to a word first.
func few(there []string, word string) string {
	slices.Sort(there)
	there = slices.Compact(there)
	if at := slices.Index(there, wording.Nearest(word, there)); at > 0 {
		near := there[at]
		there = slices.Insert(slices.Delete(there, at, at+1), 0, near)
	}
	return wording.Few(there)
}
