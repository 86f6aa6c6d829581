package doctor

import (
	"fmt"
	"slices"
)

// Level says how bad a finding is.
type Level uint8

const (
	OK   Level = iota // as it should be
	Info              // worth knowing; nothing to do, or nobody can tell
	Warn              // recordings may lose frames, or measure worse than they could
	Fail              // the connected signal cannot be recorded unchanged
)

func (l Level) String() string {
	switch l {
	case OK:
		return "ok"
	case Info:
		return "info"
	case Warn:
		return "warn"
	case Fail:
		return "fail"
	}
	return fmt.Sprintf("level(%d)", uint8(l))
}

// MarshalText makes JSON say the word.
func (l Level) MarshalText() ([]byte, error) { return []byte(l.String()), nil }

// UnmarshalText reads the word.
func (l *Level) UnmarshalText(text []byte) error {
	for _, known := range []Level{OK, Info, Warn, Fail} {
		if known.String() == string(text) {
			*l = known
			return nil
		}
	}
	return fmt.Errorf("unknown level %q", text)
}

// Finding is one thing that was looked at. The names of the JSON fields, IDs and numbers are
// documented in docs/reference/json.md and stay.
type Finding struct {
	ID     string `json:"id"`               // "link-speed"
	Group  string `json:"group"`            // "devices"
	Object string `json:"object,omitempty"` // what it is about, such as "/dev/video0"; empty for the box
	Level  Level  `json:"level"`
	Found  string `json:"found"`            // with units
	Advice string `json:"advice,omitempty"` // one sentence; there is one unless all is well
	// Numbers are what Found says, for programs. Their names carry units.
	Numbers map[string]float64 `json:"numbers,omitempty"`
}

// Worst returns the highest level among findings.
func Worst(all []Finding) Level {
	worst := OK
	for _, f := range all {
		worst = max(worst, f.Level)
	}
	return worst
}

// groupNames are the groups of findings, in the order in which Examine looks at them.
func groupNames() []string {
	return []string{"devices", "links", "disk", "memory", "privileges", "clock", "processors", "displays and programs",
		"inputs", "box"}
}

// group collects the findings of one group.
type group struct {
	name string
	all  []Finding
}

func (g *group) add(f Finding) {
	f.Group = g.name
	g.all = append(g.all, f)
}

// Examine holds what the box is against what its inputs need.
func (b *Box) Examine() []Finding {
	steps := []func(*group){b.devices, b.links, b.disk, b.memory, b.privileges, b.clock, b.processors, b.programs,
		b.inputs, b.service}
	var all []Finding
	for i, name := range groupNames() {
		g := group{name: name}
		steps[i](&g)
		all = slices.Concat(all, g.all)
	}
	return all
}
