package sched

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/eideticker/eideticker/analyze/wording"
)

// Bounds of needs.
const (
	maxTerms  = 16
	maxValues = 32
	maxLabel  = 128 // bytes of a key or a value
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
	slices.SortFunc(needs, func(a, b Term) int {
		return cmp.Or(cmp.Compare(a.Key, b.Key), slices.Compare(a.Values, b.Values))
	})
	return slices.CompactFunc(needs, func(a, b Term) bool {
		return a.Key == b.Key && slices.Equal(a.Values, b.Values)
	}), nil
}

// isWord reports whether a key or value is within bounds.
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
// as the browsers of a device: one of its values is enough.
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
		there, keys := map[string]bool{}, map[string]bool{}
		for _, d := range devices {
			for key := range d.labels {
				keys[key] = true
			}
			for v := range strings.SplitSeq(d.labels[t.Key], ",") {
				if v != "" {
					there[v] = true
				}
			}
		}
		if len(there) == 0 {
			return fmt.Errorf("no device has a label %s; there are %s", t.Key, few(keys, t.Key))
		}
		if !slices.ContainsFunc(t.Values, func(v string) bool { return there[v] }) {
			return fmt.Errorf("no device has %s; there are %s", t, few(there, t.Values[0]))
		}
	}
	// Each term fits some device. The device that misses fewest is an example.
	near, missing := "", len(n)+1
	for _, d := range devices {
		var last Term
		misses := 0
		for _, t := range n {
			if !t.fits(d.labels[t.Key]) {
				last, misses = t, misses+1
			}
		}
		if misses > 0 && misses < missing {
			near, missing = fmt.Sprintf("%s has %s=%s", d.id, last.Key, d.labels[last.Key]), misses
		}
	}
	return fmt.Errorf("no device has %s; %s", n, cmp.Or(near, "the fitting ones are on other rigs"))
}

// few lists labels, the nearest to a word first.
func few(there map[string]bool, word string) string {
	all := make([]string, 0, len(there))
	for v := range there {
		all = append(all, v)
	}
	slices.Sort(all)
	if near := wording.Nearest(word, all); near != "" {
		all = append([]string{near}, slices.DeleteFunc(all, func(v string) bool { return v == near })...)
	}
	return wording.Few(all)
}
