package device

import (
	"errors"
	"fmt"
)

// Finding is one thing that was found out about a device before a run, as a sentence.
type Finding struct {
	Text    string
	Refused bool // a run would measure something else than it is meant to
}

// Health has the findings about a device. It does not include whether the source sees the device's
// screen: the run's green shows that.
type Health []Finding

func (h *Health) say(format string, args ...any) {
	*h = append(*h, Finding{Text: fmt.Sprintf(format, args...)})
}

func (h *Health) refuse(format string, args ...any) {
	*h = append(*h, Finding{Text: fmt.Sprintf(format, args...), Refused: true})
}

// Err returns why no run should begin, or nil.
func (h Health) Err() error {
	var all []error
	for _, f := range h {
		if f.Refused {
			all = append(all, errors.New(f.Text))
		}
	}
	return errors.Join(all...)
}
